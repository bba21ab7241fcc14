// An agent that does what it is told: by the id of the message (the names of the A2A compatibility kit's scenarios), or by
// `metadata.work` of the message, which tests of our own use.
import { setTimeout as delay } from 'node:timers/promises'

const FILE = { bytes: Buffer.from('tck').toString('base64'), filename: 'output.txt', media_type: 'text/plain' }

/** What there is to do. Each is an interpreter: `(question, vac, history, extra)`. */
export const WORKS = {
  complete: async () => ({ answer: 'Hello from TCK' }),
  echo: async question => ({ answer: `You said: ${question}` }),
  text: async () => ({ answer: '', artifacts: [{ name: 'text', parts: [{ text: 'Generated text content' }] }] }),
  file: async () => ({ answer: '', artifacts: [{ name: 'file', parts: [FILE] }] }),
  'file-url': async () => ({ answer: '', artifacts: [{ name: 'file', parts: [{ url: 'https://example.com/output.txt', filename: 'output.txt', media_type: 'text/plain' }] }] }),
  data: async () => ({ answer: '', artifacts: [{ name: 'data', parts: [{ data: { key: 'value', count: 42 } }] }] }),
  message: async () => ({ answer: 'Direct message response', as_message: true }),
  ask: async () => ({ input_required: 'What else is there to know?' }),
  authorize: async () => ({ auth_required: 'Sign in at https://example.com/sign-in' }),
  reject: async () => ({ answer: 'rejected', rejected: true }),
  async fail () { throw new Error('told to fail') },
  async * stream () { yield 'Stream hello '; yield 'from TCK' },
  async * lifecycle () { yield 'Stream task lifecycle' },
  async * ordered () { yield 'Ordered output' },
  async * streamed () { yield 'Streamed text content' },
  async * chunked (_question, _vac, _history, { signal }) {
    yield 'chunk-1 '
    await delay(50, undefined, { signal })
    yield 'chunk-2'
  },
  /** Lasts `metadata.ms`, by default longer than the kit takes to subscribe again. */
  async * slow (_question, _vac, _history, { signal, message }) {
    const end = Date.now() + (Number(message?.metadata.ms) || Number(process.env.TCK_STREAMING_TIMEOUT ?? 2) * 2_000)
    for (let n = 1; Date.now() < end; n++) {
      yield `${n} `
      await delay(Math.min(100, Math.max(1, end - Date.now())), undefined, { signal })
    }
  },
  /** What reached it, for tests to look at. */
  report: async (question, vac, history, { files = [], data = [], message, contextId }) => ({ answer: JSON.stringify({ question, vac, history, files, data, message, contextId }) })
}

/** Prefixes of message ids, longer ones before those that they begin with. */
const BY_ID = [
  ['tck-complete-task', 'complete'],
  ['tck-artifact-text', 'text'],
  ['tck-artifact-file-url', 'file-url'],
  ['tck-artifact-file', 'file'],
  ['tck-artifact-data', 'data'],
  ['tck-message-response', 'message'],
  ['tck-input-required', 'ask'],
  ['tck-reject-task', 'reject'],
  ['tck-stream-001', 'stream'],
  ['tck-stream-002', 'complete'],
  ['tck-stream-003', 'lifecycle'],
  ['tck-stream-ordering-001', 'ordered'],
  ['tck-stream-artifact-text', 'streamed'],
  ['tck-stream-artifact-file', 'file'],
  ['tck-stream-artifact-chunked', 'chunked'],
  ['test-resubscribe-message-id', 'slow']
]

export function steered (question, vac, history, extra) {
  const { id = '', metadata = {} } = extra.message ?? {}
  const named = BY_ID.find(([prefix]) => id.startsWith(prefix))?.[1]
  const work = WORKS[metadata.work ?? named ?? 'echo'] ?? WORKS.echo
  return work(question, vac, history, extra)
}
