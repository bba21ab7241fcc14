import type { MemoryDocument, Vac, Vacs } from '@polyvac/core'
import { exposedVacs, vacInfo, type ExposedVacs } from '@polyvac/core/plugin'
import type { Completion } from '@polyvac/mcp-protocol'
import { McpServerOptionsError } from '../errors.js'
import type { ResourceContents, ResourceDefinition, TemplateDefinition, ToolSource } from '../tool-source.js'
import type { VacToolsOptions } from './vac-tools.js'
import { documentUri, readUri, URI_TEMPLATES, vacUri } from './vac-uri.js'

/** Most values of one completion (specification, completion). */
const MAX_VALUES = 100

const TEMPLATES: readonly TemplateDefinition[] = [
  { uriTemplate: URI_TEMPLATES.info, name: 'vac', title: 'About an agent', description: 'What a VAC is for, its model, whether it has a searchable knowledge base', mimeType: 'application/json' },
  { uriTemplate: URI_TEMPLATES.document, name: 'document', title: 'A document of an agent', description: 'The whole text of a document that a VAC answers from' }
]

/**
 * VACs as resources: what each is, `polyvac://vacs/<vac>`, and the documents of those with a memory that can be read,
 * `polyvac://vacs/<vac>/documents/<path>`. It has no tools of its own.
 * @throws MCP_SERVER_OPTIONS
 */
export function vacResources (vacs: Vacs, { names }: Pick<VacToolsOptions, 'names'> = {}): ToolSource {
  const exposed = exposedVacs(vacs, names, problem => new McpServerOptionsError(`the \`names\` of vacResources ${problem}`))
  return {
    list: () => [],
    call: name => { throw new TypeError(`vacResources has no tool ${name}`) },
    resources: {
      list: async () => (await Promise.all(exposed.list().map(resourcesOf))).flat(),
      templates: () => TEMPLATES,
      read: uri => read(exposed, uri),
      subscribe: (uri, changed) => {
        const { vac } = readUri(uri) ?? {}
        return onDocuments(vac === undefined || !exposed.has(vac) ? [] : [exposed.get(vac)], changed)
      }
    },
    complete: ({ type, ...ref }, { name, value, given }) => type === 'ref/resource' && 'uri' in ref ? complete(exposed, ref.uri, name, value, given.vac) : { values: [] },
    onChange (listener) {
      let stop = onDocuments(exposed.list(), () => { listener(['resources']) })
      const unlisten = vacs.onReplace(() => {
        stop()
        stop = onDocuments(exposed.list(), () => { listener(['resources']) })
        listener(['resources'])
      })
      return () => {
        unlisten()
        stop()
      }
    }
  }
}

async function resourcesOf (vac: Vac): Promise<ResourceDefinition[]> {
  const { display_name: title, description } = vacInfo(vac)
  const documents = await documentsOf(vac)
  return [
    { uri: vacUri(vac.name), name: vac.name, title, description, mimeType: 'application/json' },
    ...documents.map(({ uri, name, mimeType }) => ({ uri: documentUri(vac.name, uri), name, description: `A document of ${title}`, mimeType }))
  ]
}

async function read (exposed: ExposedVacs, uri: string): Promise<ResourceContents | undefined> {
  const { vac: name, document } = readUri(uri) ?? {}
  if (name === undefined || !exposed.has(name)) return undefined
  const vac = exposed.get(name)
  if (document === undefined) return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(vacInfo(vac), null, 2) }] }
  const text = await vac.memory?.read?.(document)
  if (text === undefined) return undefined
  const mimeType = (await documentsOf(vac)).find(({ uri }) => uri === document)?.mimeType
  return { contents: [{ uri, ...mimeType !== undefined && { mimeType }, text }] }
}

/** What can be read of a VAC: a memory that lists and does not read has nothing to offer here. */
async function documentsOf ({ memory }: Vac): Promise<readonly MemoryDocument[]> {
  return memory?.read === undefined ? [] : await memory.list?.() ?? []
}

async function complete (exposed: ExposedVacs, template: string, argument: string, typed: string, vac: string | undefined): Promise<Completion> {
  const known = template === URI_TEMPLATES.info || template === URI_TEMPLATES.document
  const all = !known
    ? []
    : argument === 'vac'
      ? exposed.list().map(({ name }) => name)
      : argument === 'document' && vac !== undefined && exposed.has(vac) ? (await documentsOf(exposed.get(vac))).map(({ uri }) => uri) : []
  const found = all.filter(value => value.toLowerCase().includes(typed.toLowerCase()))
  return { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES }
}

function onDocuments (vacs: readonly Vac[], changed: () => void): () => void {
  const stops = vacs.map(({ memory }) => memory?.onChange?.(changed))
  return () => { for (const stop of stops) stop?.() }
}
