// An agent whose behaviour a message selects: by its id (a scenario of the A2A compatibility kit), or by its
// `metadata.work`, which our tests use.
import { setTimeout as delay } from 'node:timers/promises'

const FILE = { bytes: Buffer.from('tck').toString('base64'), filename: 'output.txt', media_type: 'text/plain' }

/** The behaviours by name. Each is an interpreter: `(question, vac, history, extra)`. */
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
  async fail () { throw new Error('failed on request') },
  async * stream () { yield 'Stream hello '; yield 'from TCK' },
  async * lifecycle () { yield 'Stream task lifecycle' },
  async * ordered () { yield 'Ordered output' },
  async * streamed () { yield 'Streamed text content' },
  async * chunked (_question, _vac, _history, { signal }) {
    yield 'chunk-1 '
    await delay(50, undefined, { signal })
    yield 'chunk-2'
  },
  /** Runs for `metadata.ms`, by default longer than the kit needs to subscribe again. */
  async * slow (_question, _vac, _history, { signal, message }) {
    const end = Date.now() + (Number(message?.metadata.ms) || Number(process.env.TCK_STREAMING_TIMEOUT ?? 2) * 2_000)
    for (let n = 1; Date.now() < end; n++) {
      yield `${n} `
      await delay(Math.min(100, Math.max(1, end - Date.now())), undefined, { signal })
    }
  },
  /** Answers with its arguments, for tests to check. */
  report: async (question, vac, history, { files = [], data = [], message, contextId }) => ({ answer: JSON.stringify({ question, vac, history, files, data, message, contextId }) })
}

/** Prefixes of message ids, each before its own prefixes. */
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

/** An interpreter that does `otherwise` for a message that selects nothing. */
export function steeredBy (otherwise) {
  return (question, vac, history, extra) => {
    const { id = '', metadata = {} } = extra.message ?? {}
    const named = BY_ID.find(([prefix]) => id.startsWith(prefix))?.[1]
    const work = WORKS[metadata.work ?? named ?? otherwise] ?? WORKS.echo
    return work(question, vac, history, extra)
  }
}

export const steered = steeredBy('echo')
