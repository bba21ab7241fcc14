// Interpreters that fail in odd ways, over every protocol. The call fails as its protocol has it, and the host lives.
import { modern, rpc } from './client.mjs'

const QUESTIONS = [
  'stray', 'rejection', 'strayUndefined', 'throwNull', 'throwPath', 'circular', 'bigint', 'getter', 'toJson', 'number', 'symbol', 'deep', 'proxy', 'chunk 10000000',
  'tiny 100000'
]

/** A question over each protocol: path, body and headers. */
const protocols = question => {
  const call = modern('tools/call', { name: 'vac_query_agent', arguments: { query: question } })
  return [
    ['/vac/agent', { user_input: question }],
    ['/vac/streaming/agent', { user_input: question }],
    ['/vac/streaming/agent/sse', { user_input: question }],
    ['/openai/v1/chat/completions', { model: 'agent', messages: [{ role: 'user', content: question }] }],
    ['/openai/v1/chat/completions', { model: 'agent', stream: true, messages: [{ role: 'user', content: question }] }],
    ['/a2a/tasks/send', rpc('tasks/send', { skillName: 'vac_query_agent', input: { query: question } })],
    ['/a2a/tasks/sendSubscribe', rpc('tasks/sendSubscribe', { skillName: 'vac_stream_agent', input: { query: question } })],
    ['/a2a', rpc('message/send', { message: { kind: 'message', messageId: `m-${question}`, role: 'user', parts: [{ kind: 'text', text: question }] } })],
    ['/mcp', call.body, call.headers]
  ]
}

export const group = {
  host: () => ({}),
  entries: context => QUESTIONS.map(question => ({
    name: question,
    async attack () {
      const seen = await Promise.all(protocols(question).map(async ([path, body, headers]) => ({ path, ...await context.post(path, body, headers, { readMs: 5_000 }) })))
      return { tried: seen.length, seen }
    },
    holds: ({ seen }) => seen.filter(({ status }) => status === 0).map(({ path, text }) => `${path}: no answer, ${text}`)
  }))
}
