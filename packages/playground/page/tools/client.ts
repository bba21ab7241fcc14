import { mcpRequest, type PageRequest } from '../protocols/mcp-request.js'
import { readEvents } from '@polyvac/client/events'
import { send } from '../requests/exchange.js'
import { isObject } from '../shared/fields.js'
import { bodyOf, failureText, settings } from '../shared/settings.js'

/** The name under which the page shows the MCP server of the service itself; a configured server cannot have it. */
export const OWN = '@service'
/** Pages of a list that the page reads. */
const MAX_PAGES = 20
/** What the page can answer. */
const ELICITATION = { form: {}, url: {} }

export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: unknown
  readonly annotations?: { readonly readOnlyHint?: boolean, readonly destructiveHint?: boolean }
  readonly server: string
}

export interface Resource { readonly uri?: string, readonly uriTemplate?: string, readonly name: string, readonly description?: string, readonly mimeType?: string, readonly server: string }
export interface Prompt { readonly name: string, readonly description?: string, readonly arguments?: ReadonlyArray<{ readonly name: string, readonly required?: boolean }>, readonly server: string }
export interface ServerState {
  readonly name: string
  readonly state: string
  readonly transport: string
  readonly restarts: number
  readonly callsInFlight: number
  readonly nextRetryAt?: string
  readonly error?: string
  readonly mayRestart: boolean
  readonly stderr: readonly string[]
}
export interface Question { readonly method: string, readonly params: Readonly<Record<string, unknown>> }
export interface Call { readonly server: string, readonly tool: string, readonly args: unknown }
export interface ToolResult { readonly content?: readonly unknown[], readonly structuredContent?: unknown, readonly isError?: boolean }
/** A result, or what the tool asks before it goes on. */
export type Outcome = { readonly result: ToolResult } | { readonly questions: Readonly<Record<string, Question>>, readonly requestState: string }

/** A GET of the gateway; undefined where the service has none. */
async function fromGateway (path: string): Promise<Record<string, unknown> | undefined> {
  const { gateway } = settings.value.routes
  if (gateway === null) return undefined
  const sent = await send({ protocol: 'mcp-gateway', label: `list ${path}`, path: `${gateway}/${path}`, as: 'json' })
  if ([404, 405, 501].includes(sent.exchange.status ?? 0)) {
    await sent.json().catch(() => {})
    return undefined
  }
  return await bodyOf(sent)
}

/** A request to the MCP server of the service; undefined where there is none. */
async function fromMcp (method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown> | undefined> {
  if (settings.value.routes.mcp === null) return undefined
  const label = `${method} ${String(params.name ?? params.uri ?? '')}`.trim()
  const sent = await send({ protocol: 'mcp', label, ...mcpRequest(method, params, ELICITATION), as: 'sse' })
  let reply: unknown
  for await (const { data } of readEvents(sent.response)) {
    try {
      const message: unknown = JSON.parse(data)
      if (isObject(message) && !('method' in message)) reply = message
    } catch { /* not JSON, or a part without data */ }
  }
  if ([404, 405, 501].includes(sent.exchange.status ?? 0) && !(isObject(reply) && 'jsonrpc' in reply)) return undefined
  if (!isObject(reply) || !isObject(reply.result)) throw new Error(failureText(reply, sent.exchange.status))
  return reply.result
}

async function allPages<T> (method: string, key: string): Promise<T[]> {
  const items: T[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await fromMcp(method, cursor === undefined ? {} : { cursor })
    items.push(...(result?.[key] as T[] | undefined ?? []).map(item => ({ ...item, server: OWN })))
    cursor = result?.nextCursor
    if (typeof cursor !== 'string') break
  }
  return items
}

export interface Lists {
  readonly tools: readonly Tool[]
  readonly resources: readonly Resource[]
  readonly prompts: readonly Prompt[]
  /** Why a list is missing. */
  readonly problems: readonly string[]
}

/** Names in the order of their numbers: `tool 9` before `tool 10`. */
const { compare } = new Intl.Collator(undefined, { numeric: true })

/** What the MCP server of the service and its upstream servers offer; an entry of both is one of its upstream. */
export async function loadLists (): Promise<Lists> {
  const problems: string[] = []
  const listed = async <T>(from: Promise<readonly T[]>): Promise<readonly T[]> => await from.catch((err: unknown) => { problems.push((err as Error).message); return [] })
  const gateway = async <T>(path: string, key: string): Promise<readonly T[]> => (await fromGateway(path))?.[key] as T[] | undefined ?? []
  const [tools, resources, templates, prompts, ownTools, ownResources, ownPrompts] = await Promise.all([
    listed(gateway<Tool>('tools', 'tools')), listed(gateway<Resource>('resources', 'resources')),
    listed(gateway<Resource>('resources/templates', 'resourceTemplates')), listed(gateway<Prompt>('prompts', 'prompts')),
    listed(allPages<Tool>('tools/list', 'tools')), listed(allPages<Resource>('resources/list', 'resources')), listed(allPages<Prompt>('prompts/list', 'prompts'))
  ])
  const upstreams = new Set(tools.map(({ server, name }) => `${server}__${name}`))
  // the list of the gateway has no annotations
  const annotated = new Map(ownTools.map(tool => [tool.name, tool]))
  const known = new Set(resources.map(({ uri }) => uri))
  const asked = new Set(prompts.map(({ server, name }) => `${server}__${name}`))
  return {
    tools: [...ownTools.filter(({ name }) => !upstreams.has(name)), ...tools.map(tool => ({ ...annotated.get(`${tool.server}__${tool.name}`), ...tool }))]
      .sort((a, b) => compare(a.server, b.server) || compare(a.title ?? a.name, b.title ?? b.name)),
    resources: [...ownResources.filter(({ uri }) => !known.has(uri)), ...resources, ...templates],
    prompts: [...ownPrompts.filter(({ name }) => !asked.has(name)), ...prompts],
    problems: [...new Set(problems)]
  }
}

/** The servers of the gateway; undefined where the service has no gateway. */
export async function loadServers (): Promise<readonly ServerState[] | undefined> {
  const { servers, mayRestart } = await fromGateway('servers') ?? {}
  return (servers as ServerState[] | undefined)?.map(server => ({ ...server, mayRestart: mayRestart === true }))
}

export async function restartServer (server: string): Promise<void> {
  await bodyOf(await send({ protocol: 'mcp-gateway', label: `restart ${server}`, path: `${settings.value.routes.gateway}/servers/${encodeURIComponent(server)}/restart`, body: {}, as: 'json' }))
}

/** The request of a call, to send and to copy. */
export function callRequest ({ server, tool, args }: Call): PageRequest {
  if (server === OWN) return mcpRequest('tools/call', { name: tool, arguments: args }, ELICITATION)
  return { path: `${settings.value.routes.gateway}/call`, headers: {}, body: { server, tool, arguments: args } }
}

/** Calls a tool, or resumes a call with the answers to its questions. */
export async function callTool ({ server, tool, args }: Call, resume: object = {}, signal?: AbortSignal): Promise<Outcome> {
  if (server === OWN) {
    const result = await fromMcp('tools/call', { name: tool, arguments: args, ...resume })
    if (result === undefined) throw new Error('the service has no MCP server')
    if (result.resultType !== 'input_required') return { result }
    return { questions: result.inputRequests as Record<string, Question>, requestState: String(result.requestState) }
  }
  const { path, body } = callRequest({ server, tool, args })
  const sent = await send({ protocol: 'mcp-gateway', label: `tools/call ${tool}`, path, body: { ...body, ...resume }, as: 'json', ...signal === undefined ? {} : { signal } })
  const answer = await sent.json()
  if (isObject(answer) && sent.exchange.status === 202) return { questions: answer.inputRequests as Record<string, Question>, requestState: String(answer.requestState) }
  if (isObject(answer) && isObject(answer.result)) return { result: answer.result }
  // a tool that reports an error is 500 with its whole result
  const details = isObject(answer) ? answer.details : undefined
  if (isObject(details) && isObject(details.result)) return { result: details.result }
  throw new Error(failureText(answer, sent.exchange.status))
}

export async function readResource (server: string, uri: string): Promise<ReadonlyArray<Record<string, unknown>>> {
  const body = server === OWN
    ? await fromMcp('resources/read', { uri })
    : await bodyOf(await send({ protocol: 'mcp-gateway', label: `resources/read ${uri}`, path: `${settings.value.routes.gateway}/resources/read`, body: { server, uri }, as: 'json' }))
  return body?.contents as Array<Record<string, unknown>> | undefined ?? []
}

export async function getPrompt (server: string, prompt: string, args: Record<string, string>): Promise<unknown> {
  const body = server === OWN
    ? await fromMcp('prompts/get', { name: prompt, arguments: args })
    : await bodyOf(await send({ protocol: 'mcp-gateway', label: `prompts/get ${prompt}`, path: `${settings.value.routes.gateway}/prompts/get`, body: { server, prompt, arguments: args }, as: 'json' }))
  return body?.messages
}
