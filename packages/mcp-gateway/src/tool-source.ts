import { serverToolName } from '@polyvac/core'
import type { CallOptions, ToolResult } from './call.js'
import { ResourceNotFoundError, ToolNotFoundError } from './errors.js'
import type { Gateway } from './gateway.js'
import type { Item, ListKind } from './lists.js'
import { shown, suggestion } from './suggestion.js'

/** A tool under a name that is unique over all servers. */
export interface SourceTool extends Item {
  readonly name: string
  readonly server: string
  /** Its name at its server. */
  readonly tool: string
}

/** The tools, resources and prompts of a gateway, for an MCP server or an interpreter. */
export interface GatewayToolSource {
  /** All tools, named `<server>__<tool>`, with all that their server says of them. */
  list (): Promise<SourceTool[]>
  /** Calls a tool by that name. A result with `isError` is a result; @throws as `Upstream.call` else */
  call (name: string, args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolResult>
  readonly resources: {
    list (): Promise<Item[]>
    templates (): Promise<Item[]>
    /** Reads from the server that lists the resource, else from the first that knows it. */
    read (uri: string, options?: CallOptions): Promise<ToolResult>
  }
  readonly prompts: {
    /** All prompts, named `<server>__<prompt>`. */
    list (): Promise<Item[]>
    get (name: string, args: Readonly<Record<string, string>>, options?: CallOptions): Promise<ToolResult>
  }
  onChange (listener: (kinds: readonly ListKind[]) => void): () => void
}

export function toolSource (gateway: Gateway): GatewayToolSource {
  async function named (kind: 'tools' | 'prompts'): Promise<SourceTool[]> {
    const { items } = await gateway.list(kind)
    return items.map(({ server, item }) => ({ ...item, name: serverToolName(server, String(item.name)), server, tool: String(item.name) }))
  }
  // compared with the list, never cut at the separator, which may occur in a name
  async function find (kind: 'tools' | 'prompts', name: string): Promise<SourceTool> {
    const all = await named(kind)
    const found = all.find(entry => entry.name === name)
    if (found === undefined) throw new ToolNotFoundError('gateway', shown(name), suggestion(name, all.map(entry => entry.name), kind))
    return found
  }
  const items = async (kind: ListKind): Promise<Item[]> => (await gateway.list(kind)).items.map(({ server, item }) => ({ ...item, server }))
  return {
    list: () => named('tools'),
    async call (name, args, options) {
      const { server, tool } = await find('tools', name)
      return await gateway.get(server).callRaw(tool, args, options)
    },
    resources: {
      list: () => items('resources'),
      templates: () => items('templates'),
      async read (uri, options) {
        const listed = (await gateway.list('resources')).items.find(({ item }) => item.uri === uri)
        let missing: unknown = new ResourceNotFoundError('gateway', shown(uri), 'no server has it')
        for (const server of listed === undefined ? gateway.names : [listed.server]) {
          try {
            return await gateway.get(server).readResource(uri, options)
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
      async get (name, args, options) {
        const { server, tool } = await find('prompts', name)
        return await gateway.get(server).getPrompt(tool, args, options)
      }
    },
    onChange: listener => gateway.onChange(listener)
  }
}
