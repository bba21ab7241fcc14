import { serverToolName } from '@polyvac/core'
import { ResourceNotFoundError, ToolNotFoundError } from './errors.js'
import type { Gateway } from './gateway.js'
import type { Item, ListKind } from './lists.js'
import { shown, suggestion } from './suggestion.js'
import { callFor, type SourceContext, type SourceResult } from './source-call.js'
import { InteractiveCalls } from './interactive-calls.js'

/** A tool or prompt under a name that is unique over all servers, with all else that its server says of it. */
export interface SourceItem extends Item { readonly name: string }
/** A tool; its `inputSchema` is an object, whatever its server says. */
export interface SourceTool extends SourceItem { readonly inputSchema: object }
export interface SourceResource extends Item { readonly uri: string, readonly name: string }
export interface SourceTemplate extends Item { readonly uriTemplate: string, readonly name: string }

/** The tools, resources and prompts of a gateway as a source for an MCP server: `sources: [gateway.toolSource()]`. */
export interface GatewayToolSource {
  /** All tools, named `<server>__<tool>`. */
  list (): Promise<SourceTool[]>
  /**
   * Calls a tool by that name. What befalls its server is a result with `isError`: code, reason and remedy. Progress, cancel
   * and questions pass through; a question to a caller that is run again ends the run, and the call waits here.
   * @throws MCP_TOOL_NOT_FOUND, MCP_SERVER_NOT_FOUND, MCP_INVALID_STATE, or the reason of `signal`
   */
  call (name: string, args: Readonly<Record<string, unknown>>, context: SourceContext): Promise<SourceResult>
  readonly resources: {
    list (): Promise<SourceResource[]>
    templates (): Promise<SourceTemplate[]>
    /** Reads from the server that lists the resource, else from the first that knows it. @throws MCP_RESOURCE_NOT_FOUND */
    read (uri: string, context?: Pick<SourceContext, 'signal'>): Promise<{ readonly contents: ReadonlyArray<Readonly<Record<string, unknown>>> }>
  }
  readonly prompts: {
    /** All prompts, named `<server>__<prompt>`. */
    list (): Promise<SourceItem[]>
    get (name: string, args: Readonly<Record<string, string>>, context?: Pick<SourceContext, 'signal'>): Promise<{ readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }> }>
  }
  onChange (listener: (kinds: readonly ListKind[]) => void): () => void
}

/** Where a name leads. */
interface Place { readonly server: string, readonly own: string }

export function toolSource (gateway: Gateway): GatewayToolSource {
  // names say where they lead for ever, so an old list can be late, never wrong
  const places = { tools: new Map<string, Place>(), prompts: new Map<string, Place>() }
  const interactive = new InteractiveCalls(gateway)

  async function named (kind: 'tools' | 'prompts'): Promise<SourceItem[]> {
    const { items } = await gateway.list(kind)
    const found = new Map<string, Place>()
    const listed = items.map(({ server, item }): SourceItem => {
      const own = String(item.name)
      const name = serverToolName(server, own)
      found.set(name, { server, own })
      return { ...item, name }
    })
    places[kind] = found
    return listed
  }

  // compared with the list, never cut at the separator, which may occur in a name
  async function find (kind: 'tools' | 'prompts', name: string): Promise<Place> {
    const known = places[kind].get(name)
    if (known !== undefined) return known
    const all = await named(kind)
    const found = places[kind].get(name)
    if (found === undefined) throw new ToolNotFoundError('gateway', shown(name), suggestion(name, all.map(entry => entry.name), kind))
    return found
  }

  return {
    // how a tool is called as a task is between its server and this gateway
    list: async () => (await named('tools')).map(({ execution: _execution, ...tool }) => ({ ...tool, name: tool.name as string, inputSchema: objectSchema(tool.inputSchema) })),
    async call (name, args, context) {
      const { server, own: tool } = places.tools.get(name) ?? await find('tools', name)
      return await callFor({ gateway, interactive, server, tool, args, context })
    },
    resources: {
      list: async () => (await gateway.list('resources')).items.map(({ item }) => ({ ...item, uri: String(item.uri), name: String(item.name ?? item.uri) })),
      templates: async () => (await gateway.list('templates')).items.map(({ item }) => ({ ...item, uriTemplate: String(item.uriTemplate), name: String(item.name ?? item.uriTemplate) })),
      async read (uri, { signal } = { signal: undefined } as never) {
        const listed = (await gateway.list('resources')).items.find(({ item }) => item.uri === uri)
        let missing: unknown = new ResourceNotFoundError('gateway', shown(uri), 'no server has it')
        for (const server of listed === undefined ? gateway.names : [listed.server]) {
          try {
            return await gateway.get(server).readResource(uri, { signal }) as never
          } catch (err) {
            if (!(err instanceof ResourceNotFoundError)) throw err
            missing = err
          }
        }
        throw missing
      }
    },
    prompts: {
      list: () => named('prompts'),
      async get (name, args, { signal } = { signal: undefined } as never) {
        const { server, own } = await find('prompts', name)
        return await gateway.get(server).getPrompt(own, args, { signal }) as never
      }
    },
    onChange: listener => gateway.onChange(listener)
  }
}

/** Clients refuse a whole list for one tool whose schema is no object. */
function objectSchema (schema: unknown): object {
  return { ...(typeof schema === 'object' ? schema : {}), type: 'object' }
}
