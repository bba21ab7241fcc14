import { createParser } from 'eventsource-parser'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'

// the built command line, as people run it; `npm test` builds first
const cli = fileURLToPath(new URL('../../polyvac/dist/cli.js', import.meta.url))
// the service ends with this process, however it ends: its standard input closes then
const endWithParent = new URL('../../../test/fixtures/end-with-parent.mjs', import.meta.url).href

/**
 * Takes its time: "12 words, 100 ms" yields so many numbered words, one after each pause; a further attempt
 * makes no pauses. Every attempt and every stop leaves a line in attempts.log.
 */
const INTERPRETER = `import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const tell = line => appendFileSync(new URL('attempts.log', import.meta.url), line + '\\n')

export async function * stream_interpreter (question, vectorName, history, { signal, attempt }) {
  const [words, pause] = question.match(/\\d+/g).map(Number)
  tell(\`\${question}: attempt \${attempt}\`)
  signal.addEventListener('abort', () => tell(\`\${question}: stopped\`), { once: true })
  for (let word = 1; word <= words; word++) {
    await setTimeout(attempt === 0 ? pause : 1, undefined, { signal })
    yield { progress: word / words }
    yield \`word\${word} \`
  }
}
`

export interface Frame {
  readonly id: number
  readonly taskId: string
  readonly data: { readonly state: string, readonly delta?: string, readonly messages: Array<{ role: string, parts: Array<{ text: string }> }>, readonly artifacts: Array<{ content: { final_answer: string } }>, readonly updatedAt: string }
}

/** A folder with a slow interpreter and its configuration; gone after the test. `service` is YAML, indented by two. */
export async function workspace (t: Test, service = ''): Promise<{ folder: string, attempts: () => Promise<string[]> }> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-a2a-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await writeFile(join(folder, 'interpreter.mjs'), INTERPRETER)
  await writeFile(join(folder, 'vac_config.yaml'), `kind: vacConfig
service:
  stream_interpreter: ./interpreter.mjs
  enable_a2a_agent: true
${service}vac:
  slow: { display_name: Slow counter }
  my_docs: { display_name: Other counter }
`)
  const attempts = async (): Promise<string[]> => (await readFile(join(folder, 'attempts.log'), 'utf8').catch(() => '')).split('\n').slice(0, -1)
  return { folder, attempts }
}

export interface TaskService {
  readonly url: string
  readonly out: { stdout: string, stderr: string }
  kill (signal: NodeJS.Signals): void
  readonly ended: Promise<{ code: number | null, signal: string | null }>
  /** The result of a method of the description's dialect, or its JSON-RPC error. */
  call (method: string, params: object, headers?: Record<string, string>): Promise<any>
  /** Frames of sendSubscribe or resubscribe, until the stream ends, the connection breaks or `signal` aborts. */
  follow (method: string, params: object, options?: { after?: number, signal?: AbortSignal }): AsyncGenerator<Frame, void>
}

/** `polyvac start` in a folder, on a free port; killed with the test. `url` is empty where it ended at once. */
export async function start (t: Test, folder: string, ...args: string[]): Promise<TaskService> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(?:TAP|PORT$|HOST$|PUBLIC_URL$|LOG_LEVEL$)/.test(key)))
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, `--import=${endWithParent}`, cli, 'start', '--port', '0', ...args],
    { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  child.stdin.on('error', () => {})
  let gone = false
  const ended = new Promise<{ code: number | null, signal: string | null }>(resolve => {
    child.on('close', (code, signal) => { gone = true; resolve({ code, signal }) })
  })
  t.teardown(async () => { child.kill('SIGKILL'); await ended })
  const banner = (): string[] | null => gone ? [''] : /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)
  const [url = ''] = await until(banner, 'the banner shows the address')

  const post = (method: string, params: object, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> => fetch(`${url}/a2a/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'test', method, params }),
    ...(signal && { signal })
  })

  return {
    url,
    out,
    ended,
    kill (signal) { child.kill(signal) },
    async call (method, params, headers = {}) {
      const { result, error } = await (await post(method, params, headers)).json() as { result?: unknown, error?: unknown }
      return error === undefined ? result : { error }
    },
    async * follow (method, params, { after, signal } = {}) {
      const response = await post(method, params, after === undefined ? {} : { 'last-event-id': String(after) }, signal)
      if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) throw new Error(await response.text())
      const frames: Frame[] = []
      const parser = createParser({ onEvent: ({ id, data }) => { frames.push({ id: Number(id), ...JSON.parse(data) }) } })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      try {
        while (true) {
          // a connection that breaks is the end of what was read
          const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
          if (done) return
          parser.feed(value!)
          yield * frames.splice(0)
        }
      } finally {
        await reader.cancel().catch(() => {})
      }
    }
  }
}

/** The answer of the interpreter of the workspace to "n words, …". */
export function words (count: number): string {
  return Array.from({ length: count }, (_, index) => `word${index + 1} `).join('')
}
