import type { MemoryDocument, Vac, Vacs } from '@polyvac/core'
import { exposedVacs, mayUse, vacInfo, vacsFor, type ExposedVacs } from '@polyvac/core/plugin'
import type { Completion, CompletionArgument } from '@polyvac/mcp-protocol'
import { McpServerOptionsError } from '../errors.js'
import type { ResourceContents, ResourceDefinition, TemplateDefinition, ToolSource } from '../tool-source.js'
import type { VacToolsOptions } from './vac-tools.js'
import { documentUri, readUri, URI_TEMPLATES, vacUri } from './vac-uri.js'

/** Most values of one completion (specification, completion). */
const MAX_VALUES = 100

const TEMPLATES: readonly TemplateDefinition[] = [{
  uriTemplate: URI_TEMPLATES.info,
  name: 'vac',
  title: 'About an agent',
  description: 'What a VAC is for, its model, whether it has a searchable knowledge base',
  mimeType: 'application/json'
}, {
  uriTemplate: URI_TEMPLATES.document,
  name: 'document',
  title: 'A document of an agent',
  description: 'The whole text of a document that a VAC answers from'
}]

/**
 * A source of VACs as resources: the description of each, `polyvac://vacs/<vac>`, and the documents of those whose
 * memory can read them, `polyvac://vacs/<vac>/documents/<path>`. It does not have tools.
 * @throws MCP_SERVER_OPTIONS
 * @example
 * const vacs = createVacs({ vacs: ['docs'], streamInterpreter, memory: { docs: await openFolder({ path: 'docs' }) } })
 * await app.register(mcpServerPlugin, { sources: [vacTools(vacs), vacResources(vacs)] })
 */
export function vacResources (vacs: Vacs, { names }: Pick<VacToolsOptions, 'names'> = {}): ToolSource {
  const refused = (problem: string): Error => new McpServerOptionsError(`the \`names\` of vacResources ${problem}`)
  const exposed = exposedVacs(vacs, names, refused)
  return {
    list: () => [],
    call: name => { throw new TypeError(`vacResources has no tool ${name}`) },
    resources: {
      list: async () => (await Promise.all(exposed.list().map(resourcesOf))).flat(),
      templates: () => TEMPLATES,
      read: (uri, { principal, log }) => read(vacsFor(exposed, principal, log), uri),
      subscribe: (uri, onUpdate) => {
        const { vac } = readUri(uri) ?? {}
        return onDocuments(vac === undefined || !exposed.has(vac) ? [] : [exposed.get(vac)], onUpdate)
      }
    },
    complete: (ref, argument, { principal }) =>
      ref.type === 'ref/resource' ? complete(vacsFor(exposed, principal), ref.uri, argument) : { values: [] },
    mayUse (kind, id, principal) {
      if (kind === 'templates') return vacsFor(exposed, principal).list().length > 0
      const { vac } = readUri(id) ?? {}
      return vac !== undefined && mayUse(principal, { vac })
    },
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
    ...documents.map(({ uri, name, mimeType }) =>
      ({ uri: documentUri(vac.name, uri), name, description: `A document of ${title}`, mimeType }))
  ]
}

async function read (exposed: ExposedVacs, uri: string): Promise<ResourceContents | undefined> {
  const { vac: name, document } = readUri(uri) ?? {}
  if (name === undefined || !exposed.has(name)) return undefined
  const vac = exposed.get(name)
  if (document === undefined) {
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(vacInfo(vac), null, 2) }] }
  }
  const text = await vac.memory?.read?.(document)
  if (text === undefined) return undefined
  const mimeType = (await documentsOf(vac)).find(({ uri }) => uri === document)?.mimeType
  return { contents: [{ uri, ...mimeType !== undefined && { mimeType }, text }] }
}

/** The documents of a VAC; none if its memory cannot read them. */
async function documentsOf ({ memory }: Vac): Promise<readonly MemoryDocument[]> {
  return memory?.read === undefined ? [] : await memory.list?.() ?? []
}

async function complete (exposed: ExposedVacs, template: string, argument: CompletionArgument): Promise<Completion> {
  if (template !== URI_TEMPLATES.info && template !== URI_TEMPLATES.document) return { values: [] }
  const { name, value, given: { vac } } = argument
  let all: string[] = []
  if (name === 'vac') all = exposed.list().map(({ name }) => name)
  else if (name === 'document' && vac !== undefined && exposed.has(vac)) {
    all = (await documentsOf(exposed.get(vac))).map(({ uri }) => uri)
  }
  const found = all.filter(candidate => candidate.toLowerCase().includes(value.toLowerCase()))
  return { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES }
}

/** Calls `onUpdate` whenever the documents of a VAC change, until the function that this returns is called. */
function onDocuments (vacs: readonly Vac[], onUpdate: () => void): () => void {
  const stops = vacs.map(({ memory }) => memory?.onChange?.(onUpdate))
  return () => { for (const stop of stops) stop?.() }
}
