import { errorIn, ServiceError } from './errors.js'
import { addressOf, randomId, sendForEvents, toEnd, updateWith, type Json } from './send.js'
import type { InputRequest, Protocol, Question, Source, Step, Update } from './types.js'

/** The revision of MCP that `mcp` speaks. */
export const REVISION = '2026-07-28'

/** The tool `vac_stream_<vac>` of MCP 2026-07-28, which has no sessions: a reply to a question is another call. */
export const mcp: Protocol = { ask: question => toEnd(streamed(question)) }

/** What the call that asked was, and where its answer goes. */
interface Asked { readonly args: Json, readonly requestState: string, readonly id: string, readonly field: string }

async function * streamed (question: Question): AsyncGenerator<Update, void> {
  const { vac, text, history, conversation, steps, reply } = question
  const name = `vac_stream_${vac}`
  const asked = reply?.state as Asked | undefined
  // the server compares the arguments with those of the call that asked
  const args: Json = asked?.args ?? {
    query: text, ...history !== undefined && { chat_history: history }, ...conversation !== undefined && { conversation_id: conversation }
  }
  const request = mcpRequest('tools/call', {
    name,
    arguments: args,
    ...asked !== undefined && { requestState: asked.requestState, inputResponses: { [asked.id]: { action: 'accept', content: { [asked.field]: text } } } }
  }, { elicitation: { form: {} } }, { progressToken: randomId(), ...steps === true && { 'polyvac/steps': true } })
  for await (const { value = {} } of sendForEvents(question, addressOf(question, 'mcp'), request)) {
    const { method, params, result } = value
    if (method === 'notifications/progress') {
      yield updateWith({ delta: params.message, step: params._meta?.['polyvac/step'] as Step | undefined, event: value })
    }
    if (result === undefined) continue
    const input = inputOf(result as Json, args)
    yield input === undefined ? resultOf(result as Json) : { input, done: true, event: value }
  }
}

/**
 * A request of MCP 2026-07-28, in which each request names the revision and what the client can do.
 * @param capabilities of the client, such as the questions that it can show
 */
export function mcpRequest (method: string, params: Json, capabilities: object, meta: object = {}): { readonly headers: Record<string, string>, readonly body: object } {
  const name: unknown = params.name ?? params.uri
  const _meta = { ...meta, 'io.modelcontextprotocol/protocolVersion': REVISION, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  return {
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...typeof name === 'string' && { 'mcp-name': headerOf(name) }
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }
  }
}

/** A name as a header, which carries visible ASCII; other names as base64 of their UTF-8. */
function headerOf (name: string): string {
  return /^[\x20-\x7e]*$/.test(name) ? name : `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(name)))}?=`
}

/** The question of a result that asks. */
function inputOf ({ inputRequests, requestState }: Json, args: Json): InputRequest | undefined {
  const [id, request] = Object.entries((inputRequests ?? {}) as Json)[0] ?? []
  if (id === undefined) return undefined
  const { message = '', requestedSchema } = request.params ?? {}
  const field = Object.keys(requestedSchema?.properties ?? {})[0] ?? 'reply'
  return { text: String(message), state: { args, requestState: String(requestState), id, field } satisfies Asked }
}

/** @throws ServiceError with the text of a result that is an error */
function resultOf (result: Json): Update {
  const { isError, content = [], structuredContent = {} } = result
  const text = (content as Json[]).map(part => part.text ?? '').join('')
  if (isError === true) throw errorIn(structuredContent) ?? new ServiceError(text, { code: 'VAC_FAILED' })
  const { final_answer: answer = text, source_documents: sources, metadata, conversation_id: conversation } = structuredContent
  const asked: unknown = metadata?.input_required
  return updateWith({
    text: answer as string,
    isTruncated: metadata?.truncated,
    sources: sources as readonly Source[] | undefined,
    // in a conversation the reply is the next question
    input: asked === undefined ? undefined : { text: String(asked) },
    conversation,
    event: structuredContent,
    done: true
  })
}
