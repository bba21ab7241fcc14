import { relationsOf } from './relations.js'
import { readXml } from './xml.js'
import type { Archive } from './zip.js'

/** Comments of a sheet that are read, and the characters of one. */
const MAX_CELL_COMMENTS = 2_000
const MAX_COMMENT = 2_000

/** What Excel writes before a comment for older programs. */
const FOR_OLDER = /^\[Threaded comment\][^]*?\bComment:\s*/

/** The comments of a sheet, each with its author and its cell. */
export async function cellCommentsOf (archive: Archive, sheet: string): Promise<string[]> {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_CELL_COMMENTS
  const comments: string[] = []
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_CELL_COMMENTS
  const authors: string[] = []
  const part = (await relationsOf(archive, sheet)).find(({ type }) => type === 'comments')?.part
  if (part === undefined) return comments
  let text = ''
  let inText = false
  let cell = { place: '', author: 0 }
  await readXml(archive, part, {
    isDone: () => comments.length >= MAX_CELL_COMMENTS,
    open (name, { ref = '', authorId = '0' }) {
      if (name === 'comment') cell = { place: ref, author: Number(authorId) }
      if (name === 'comment' || name === 'author') text = ''
      inText = name === 't' || name === 'author'
    },
    text (data) { if (inText && text.length < MAX_COMMENT) text += data },
    close (name) {
      inText = false
      if (name === 'author' && authors.length < MAX_CELL_COMMENTS) authors.push(text.trim())
      if (name !== 'comment') return
      // a threaded comment has the number of its thread in the place of an author
      const author = (authors[cell.author] ?? '').replace(/^tc=.*/, '')
      const shown = text.replace(FOR_OLDER, '').replace(/\s+/g, ' ').trim().slice(0, MAX_COMMENT)
      if (shown !== '') comments.push(`Comment${author === '' ? '' : ` by ${author}`} on ${cell.place}: ${shown}`)
    }
  })
  return comments
}
