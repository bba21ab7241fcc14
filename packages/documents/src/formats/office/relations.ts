import { posix } from 'node:path'
import { readXml } from './xml.js'
import type { Archive } from './zip.js'

/** Relations of a part that are read. */
const MAX_RELATIONS = 20_000

/** A relation of a part of an Office file to another part of it. */
export interface Relation {
  readonly id: string
  /** The last segment of its URI, such as `worksheet`. */
  readonly type: string
  /** Path of the part in the archive. */
  readonly part: string
}

/** The relations of a part; those to files outside the archive are left out. */
export async function relationsOf (archive: Archive, part: string): Promise<Relation[]> {
  const file = posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`)
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_RELATIONS
  const relations: Relation[] = []
  if (!archive.has(file)) return relations
  await readXml(archive, file, {
    open (name, { Id: id, Type: type = '', Target: target, TargetMode: mode }) {
      if (name !== 'Relationship' || id === undefined || target === undefined || mode === 'External' || relations.length >= MAX_RELATIONS) return
      const path = target.startsWith('/') ? target.slice(1) : posix.join(posix.dirname(part), target)
      if (archive.has(path)) relations.push({ id, type: type.slice(type.lastIndexOf('/') + 1), part: path })
    }
  })
  return relations
}

/** The main part of an Office file. @throws an error where it has none, such as in an archive of other files */
export async function mainPart (archive: Archive, usual: string): Promise<string> {
  const main = (await relationsOf(archive, '')).find(({ type }) => type === 'officeDocument')?.part ?? usual
  if (!archive.has(main)) throw new Error(`it has no ${usual}`)
  return main
}
