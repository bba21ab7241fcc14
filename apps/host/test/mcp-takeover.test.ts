import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { start } from './task-service.js'

const WORDS = 30
/** Yields words, and notes each run in a file that all replicas share. */
const interpreter = (runs: string): string => `import { appendFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'

export async function * stream_interpreter (question, name, history, { signal }) {
  await appendFile(${JSON.stringify(runs)}, 'run\\n')
  for (let word = 1; word <= ${WORDS}; word++) {
    yield \`word\${word} \`
    await setTimeout(50, undefined, { signal })
  }
}
`

test('a call whose replica gets SIGKILL is run once more, however many clients resume it at whichever replica', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-takeover-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const runs = join(folder, 'runs.txt')
  await writeFile(join(folder, 'interpreter.mjs'), interpreter(runs))
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({
    kind: 'vacConfig',
    service: {
      stream_interpreter: './interpreter.mjs', enable_mcp_server: true, tasks: { store: 'postgres', url: await testDatabase(t) }, state_key: 'a key of all replicas, 32 bytes long'
    },
    vac: { demo: { display_name: 'Demo' } }
  }))
  const [first, ...others] = await Promise.all([start(t, folder), start(t, folder), start(t, folder)])
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = async (message: object, signal?: AbortSignal): Promise<Response> =>
    await fetch(`${first!.url}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }), ...signal !== undefined && { signal } })
  const opened = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } })
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id') as string
  const call = await post({ id: 2, method: 'tools/call', params: { name: 'vac_stream_demo', arguments: { query: 'x' }, _meta: { progressToken: 'p' } } })
  const begun = await read(call, text => text.includes('word3'))
  const id = /id: (\S+)\n(?!.*id: )/s.exec(begun)?.[1] as string
  // two clients at each of the other replicas
  const clients = await Promise.all([...others, ...others].map(async ({ url }) => await fetch(`${url}/mcp`, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id } })))
  first!.kill('SIGKILL')
  const late = await Promise.all(others.map(async ({ url }) => await fetch(`${url}/mcp`, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id } })))
  const texts = await Promise.all([...clients, ...late].map(async response => await read(response, () => false)))
  const whole = Array.from({ length: WORDS }, (_none, i) => `word${i + 1}`).join(' ')
  for (const text of texts) t.match(text, new RegExp(`"result":.*${whole}`))
  t.equal((await readFile(runs, 'utf8')).length, 'run\n'.length * 2, 'once at the killed replica, once at another')
})

/** The text of a stream, until it ends or has enough. */
async function read (response: Response, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (isEnough(text)) break
    }
  } catch { /* the replica was killed */ }
  return text
}
