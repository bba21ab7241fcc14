import { isRecord } from '@polyvac/core/plugin'

const EVENTS = { 'content-type': 'text/event-stream' }

/**
 * A `fetch` whose responses to streamed chat completions are as the SDK reads them: a server that does not stream sends
 * one body, which becomes the events of a stream; counts of tokens that are none would fail the answer, and are left
 * out.
 */
export function repaired (fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { ok, body, headers } = response
    if (!ok || body === null) return response
    if (!/^application\/json\b/i.test(headers.get('content-type') ?? '')) return new Response(body.pipeThrough(lineByLine(repairLine)), response)
    return new Response(eventsOf(await response.json()), { headers: EVENTS })
  }
}

/** The events of a whole chat completion. */
function eventsOf (completion: unknown): string {
  const { choices, usage, ...rest } = isRecord(completion) ? completion : {}
  const [first] = Array.isArray(choices) ? choices.filter(isRecord) : []
  const message = isRecord(first?.message) ? first.message : {}
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isRecord).map((call, index) => ({ index, ...call })) : undefined
  const chunk = { ...rest, choices: [{ index: 0, delta: { ...message, ...calls !== undefined && { tool_calls: calls } }, finish_reason: first?.finish_reason ?? 'stop' }], ...isUsage(usage) && { usage } }
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
}

function repairLine (line: string): string {
  if (!line.includes('"usage"') || !line.startsWith('data: {')) return line
  try {
    const { usage, ...chunk } = JSON.parse(line.slice('data: '.length))
    return isUsage(usage) ? line : `data: ${JSON.stringify(chunk)}`
  } catch {
    return line
  }
}

/** Whether the counts are counts; other fields, such as the cost, may be anything. */
function isUsage (usage: unknown): boolean {
  return isRecord(usage) && Object.entries(usage).every(([name, count]) => !name.endsWith('_tokens') || count === null || (Number.isSafeInteger(count) && (count as number) >= 0))
}

/** One stream for all of it: each one that a body is piped through takes processor time for each of its pieces. */
function lineByLine (change: (line: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let held = ''
  return new TransformStream({
    transform (bytes, controller) {
      const text = decoder.decode(bytes, { stream: true })
      const end = text.lastIndexOf('\n')
      if (end === -1) {
        held += text
        return
      }
      const lines = held + text.slice(0, end)
      held = text.slice(end + 1)
      controller.enqueue(encoder.encode(`${lines.includes('"usage"') ? lines.split('\n').map(change).join('\n') : lines}\n`))
    },
    flush (controller) {
      held += decoder.decode()
      if (held !== '') controller.enqueue(encoder.encode(change(held)))
    }
  })
}
