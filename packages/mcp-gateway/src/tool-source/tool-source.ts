import { serverToolName } from '@polyvac/core/plugin'
import { ResourceNotFoundError, ToolNotFoundError } from '../errors.js'
import type { Gateway } from '../gateway.js'
import { LISTS, type Item, type ListKind } from '../protocol/lists.js'
import { shown, suggestion } from '../suggestion.js'
import { callFor, requestFor, type SourceContext, type SourceResult } from './call.js'
import { SourceTasks } from './tasks.js'
import { subscribeEverywhere } from './subscribe.js'
import { InteractiveCalls } from '../input/interactive-calls.js'

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
    read (uri: string, context?: SourceContext): Promise<{ readonly contents: ReadonlyArray<Readonly<Record<string, unknown>>> }>
    /** Calls `changed` whenever the resource does, as far as its server tells. What it returns ends that. */
    subscribe (uri: string, changed: () => void): Promise<() => void>
  }
  readonly prompts: {
    /** All prompts, named `<server>__<prompt>`. */
    list (): Promise<SourceItem[]>
    get (name: string, args: Readonly<Record<string, string>>, context?: SourceContext): Promise<{ readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }> }>
  }
  /** Tasks that servers made of calls. */
  readonly tasks: {
    get (taskId: string, context: SourceContext): Promise<Readonly<Record<string, unknown>> | undefined>
    update (taskId: string, inputResponses: Readonly<Record<string, unknown>>, context: SourceContext): Promise<boolean>
    cancel (taskId: string, context: SourceContext): Promise<boolean>
    follow (taskId: string, changed: (task: Readonly<Record<string, unknown>>) => void, context: SourceContext): Promise<void>
  }
  /** Values for an argument of a prompt, by its name here, or of a resource template; none where its server proposes none. */
  complete (ref: CompletionRef, argument: CompletionArgument, context: SourceContext): Promise<{ readonly values: readonly string[], readonly total?: number, readonly hasMore?: boolean }>
  onChange (listener: (kinds: readonly ListKind[]) => void): () => void
}

export type CompletionRef = { readonly type: 'ref/prompt', readonly name: string } | { readonly type: 'ref/resource', readonly uri: string }
export interface CompletionArgument { readonly name: string, readonly value: string, readonly given: Readonly<Record<string, string>> }

/** Where a name leads. */
interface Place { readonly server: string, readonly own: string }

export function toolSource (gateway: Gateway): GatewayToolSource {
  // names say where they lead for ever, so an old list can be late, never wrong
  const places = { tools: new Map<string, Place>(), prompts: new Map<string, Place>() }
  const interactive = new InteractiveCalls(gateway)
  const tasks = new SourceTasks(gateway)

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

  async function behind (ref: CompletionRef): Promise<Place> {
    if (ref.type === 'ref/prompt') return await find('prompts', ref.name)
    for (const kind of ['templates', 'resources'] as const) {
      const listed = (await gateway.list(kind)).items.find(({ item }) => item[LISTS[kind].id] === ref.uri)
      if (listed !== undefined) return { server: listed.server, own: ref.uri }
    }
    throw new ResourceNotFoundError('gateway', shown(ref.uri), 'no server has it')
  }

  return {
    // how a tool is called as a task is between its server and this gateway
    list: async () => (await named('tools')).map(({ execution: _execution, ...tool }) => ({ ...tool, name: tool.name as string, inputSchema: objectSchema(tool.inputSchema) })),
    async call (name, args, context) {
      const { server, own: tool } = places.tools.get(name) ?? await find('tools', name)
      return await callFor({ gateway, interactive, tasks, server, tool, args, context })
    },
    resources: {
      list: async () => (await gateway.list('resources')).items.map(({ item }) => ({ ...item, uri: String(item.uri), name: String(item.name ?? item.uri) })),
      templates: async () => (await gateway.list('templates')).items.map(({ item }) => ({ ...item, uriTemplate: String(item.uriTemplate), name: String(item.name ?? item.uriTemplate) })),
      async read (uri, context) {
        const listed = (await gateway.list('resources')).items.find(({ item }) => item.uri === uri)
        let missing: unknown = new ResourceNotFoundError('gateway', shown(uri), 'no server has it')
        for (const server of listed === undefined ? gateway.names : [listed.server]) {
          try {
            const upstream = gateway.get(server)
            return await requestFor(upstream, context, async options => await upstream.readResource(uri, options)) as never
          } catch (err) {
            if (!(err instanceof ResourceNotFoundError)) throw err
            missing = err
          }
        }
        throw missing
      },
      async subscribe (uri, changed) {
        return await subscribeEverywhere(gateway, uri, changed)
      }
    },
    prompts: {
      list: () => named('prompts'),
      async get (name, args, context) {
        const { server, own } = await find('prompts', name)
        const upstream = gateway.get(server)
        return await requestFor(upstream, context, async options => await upstream.getPrompt(own, args, options)) as never
      }
    },
    tasks,
    async complete (ref, { name, value, given }, context) {
      const { server, own } = await behind(ref)
      const upstream = gateway.get(server)
      const params = { ref: ref.type === 'ref/prompt' ? { ...ref, name: own } : ref, argument: { name, value }, ...Object.keys(given).length > 0 && { context: { arguments: given } } }
      const { completion } = await requestFor(upstream, context, async options => await upstream.complete(params, options))
      return completion as never
    },
    onChange: listener => gateway.onChange(listener)
  }
}

/** Clients refuse a whole list for one tool whose schema is no object. */
function objectSchema (schema: unknown): object {
  return { ...(typeof schema === 'object' ? schema : {}), type: 'object' }
}
