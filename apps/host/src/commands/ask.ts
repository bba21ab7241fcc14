import { createInterface } from 'node:readline/promises'
import { isAnswer, type Answer, type ChatTurn, type Vac, type Vacs } from '@polyvac/core'
import { sourceLines } from '@polyvac/core/plugin'
import { createHost } from '../create-host.js'
import { UsageError } from '../errors.js'
import { loadConfig } from '../load-config.js'
import { ProgressBar } from '../progress-bar.js'
import { toPlainLines, toPlainText } from '../terminal.js'
import type { Arguments } from '../arguments.js'

/** `polyvac ask`: answers one question, or holds a conversation on a terminal, in this process, without a server. */
export async function ask (args: Arguments): Promise<void> {
  const config = await loadConfig(args)
  const bar = new ProgressBar(process.stderr)
  const app = await createHost({
    config,
    watchDocuments: false,
    // this process serves no callers
    enable_a2a_agent: false,
    enable_mcp_server: false,
    mcp_servers: [],
    server: { logger: { level: args.logLevel ?? 'error', stream: process.stderr } },
    onIndexing: progress => bar.show(progress)
  })
  const stop = new AbortController()
  const onInterrupt = (): void => stop.abort(new Error('interrupted'))
  process.once('SIGINT', onInterrupt)
  try {
    const { vac, question } = toQuestion(app.polyvac.vacs, args.words)
    if (question?.trim() === '') throw new UsageError('the question is blank; polyvac ask "How do I start?"')
    if (question !== undefined) await answer(vac, question, [], args, stop.signal)
    else await converse(vac, args, stop.signal)
  } finally {
    process.off('SIGINT', onInterrupt)
    bar.clear()
    await app.close()
  }
}

function toQuestion (vacs: Vacs, words: readonly string[]): { vac: Vac, question: string | undefined } {
  const [first, ...rest] = words
  if (first !== undefined && vacs.has(first)) {
    return { vac: vacs.get(first), question: rest.length === 0 ? undefined : rest.join(' ') }
  }
  if (vacs.names.length !== 1) throw new UsageError(`name the VAC to ask: ${vacs.names.join(', ')}`)
  return { vac: vacs.get(vacs.names[0]!), question: words.length === 0 ? undefined : words.join(' ') }
}

async function converse (vac: Vac, args: Arguments, signal: AbortSignal): Promise<void> {
  if (process.stdin.isTTY !== true) throw new UsageError('there is no question; polyvac ask "How do I start?"')
  const history: ChatTurn[] = []
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    for (;;) {
      const question = (await lines.question(`${vac.name}> `, { signal })).trim()
      if (question === '' || question === 'exit') return
      const { answer: content } = await answer(vac, question, history, args, signal)
      history.push({ role: 'user', content: question }, { role: 'assistant', content })
    }
  } catch (err) {
    if (!signal.aborted) throw err
  } finally {
    lines.close()
  }
}

async function answer (vac: Vac, question: string, history: readonly ChatTurn[], { json }: Arguments,
  signal: AbortSignal): Promise<Answer> {
  const chunks = vac.stream({ question, history, signal, protocol: 'code' })
  for await (const chunk of chunks) {
    if (typeof chunk === 'string' && !json) process.stdout.write(toPlainLines(chunk))
    if (typeof chunk === 'string' || !isAnswer(chunk)) continue
    const lines = sourceLines(chunk)
    const sources = lines.length === 0 ? '' : `\n${lines.map(toPlainText).join('\n')}\n`
    process.stdout.write(json ? `${JSON.stringify(chunk, null, 2)}\n` : `\n${sources}`)
    return chunk
  }
  throw new Error('the answer did not end')
}
