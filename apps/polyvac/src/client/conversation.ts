import { createInterface } from 'node:readline'
import type { Answer, ChatTurn } from '@polyvac/core'
import { sourceLines } from '@polyvac/core/plugin'
import { toPlainLines, toPlainText } from '../terminal.js'
import type { CommandIo } from '../command-io.js'
import type { KeptConversations } from './kept-conversations.js'

/** Turns that go with a question; the oldest are left out. */
export const MAX_HISTORY_TURNS = 200

/** Streams the text of one answer and ends with the answer. */
export type Speaker = (question: string, history: readonly ChatTurn[], signal: AbortSignal) => AsyncIterable<string | Answer>

/** Asks one question and writes the answer: text as it arrives, then the sources; or one JSON document. */
export async function writeAnswer (chunks: AsyncIterable<string | Answer>, json: false | 'line' | 'pretty', { stdout, stderr }: Pick<CommandIo, 'stdout' | 'stderr'>): Promise<Answer> {
  for await (const chunk of chunks) {
    if (typeof chunk === 'string') {
      if (json === false) stdout.write(toPlainLines(chunk))
      continue
    }
    const lines = sourceLines(chunk)
    const sources = lines.length === 0 ? '' : `\n${lines.map(toPlainText).join('\n')}\n`
    const question = typeof chunk.input_required === 'string' && !chunk.answer.includes(chunk.input_required)
      ? `${toPlainLines(chunk.input_required)}\n`
      : ''
    stdout.write(json === false
      ? `\n${question}${sources}`
      : `${toPlainLines(JSON.stringify(chunk, null, json === 'pretty' ? 2 : 0))}\n`)
    if (json === false) for (const notice of noticesOf(chunk)) stderr.write(`${toPlainText(notice)}\n`)
    return chunk
  }
  throw new Error('the answer did not end')
}

/** What an answer lacks because a model server failed. */
function noticesOf ({ metadata = {} }: Answer): string[] {
  const { mode, reason, degraded } = metadata
  return [
    ...mode === 'extractive-fallback' ? [`the language model was not used: ${String(reason)}; this answer is made of the documents' own sentences`] : [],
    ...typeof degraded === 'string' ? [`searched by words only: ${degraded}`] : []
  ]
}

/**
 * Answers each line of standard input until its end, `exit`, or an empty line on a terminal. SIGINT stops the answer in
 * progress; a second one, or one without an answer in progress, ends the conversation. After a failed answer the
 * conversation goes on; from a pipe the exit code becomes 1. `/list` and `/open <id>` read what a service keeps.
 */
export async function converse (name: string, speak: Speaker, { json }: { readonly json: boolean }, io: CommandIo, kept?: KeptConversations): Promise<void> {
  const isTerminal = io.stdin.isTTY === true
  const lines = createInterface({ input: io.stdin, terminal: isTerminal, ...isTerminal ? { output: io.stderr } : {} })
  lines.setPrompt(isTerminal ? `${name}> ` : '')
  let answering: AbortController | undefined
  let isInterrupted = false
  let isClosed = false
  lines.once('close', () => { isClosed = true })
  const onInterrupt = (): void => {
    if (answering === undefined || answering.signal.aborted) {
      isInterrupted = true
      lines.close()
    }
    answering?.abort(new Error('interrupted'))
  }
  lines.on('SIGINT', onInterrupt)
  io.on('SIGINT', onInterrupt)
  let history: ChatTurn[] = []
  try {
    if (isTerminal) lines.prompt()
    for await (const line of lines) {
      const question = line.trim()
      if (question === 'exit' || (isTerminal && question === '')) return
      if (question !== '') {
        answering = new AbortController()
        const { signal } = answering
        try {
          const shown = await command(question, kept)
          if (shown !== undefined) {
            io.stdout.write(shown.map(line => `${toPlainText(line)}\n`).join(''))
          } else {
            const { answer, input_required: asked } = await writeAnswer(speak(question, history, signal), json ? 'line' : false, io)
            const content = typeof asked === 'string' && answer === '' ? asked : answer
            const turns: ChatTurn[] = [{ role: 'user', content: question }, { role: 'assistant', content }]
            history = [...history, ...turns].slice(-MAX_HISTORY_TURNS)
          }
        } catch (err) {
          writeFailure(err as Error, signal, json, io)
          if (!isTerminal && !signal.aborted) io.exitCode = 1
        } finally {
          answering = undefined
        }
      }
      if (isInterrupted) return
      // the end of a pipe closes it while lines wait
      if (isTerminal && !isClosed) lines.prompt()
    }
  } finally {
    io.off('SIGINT', onInterrupt)
    lines.close()
  }
}

/** What `/list` or `/open <id>` shows; undefined for a question. */
async function command (line: string, kept: KeptConversations | undefined): Promise<string[] | undefined> {
  const [, name, id] = /^\/(list|open)(?:\s+(\S+))?$/.exec(line) ?? []
  if (name === undefined) return undefined
  if (kept === undefined) return ['conversations are kept by a running service; name it with --url']
  if (name === 'list') return await kept.list()
  return id === undefined ? ['name the conversation: /open <id>; /list shows them'] : await kept.open(id)
}

function writeFailure (err: Error & { code?: string }, signal: AbortSignal, json: boolean, { stdout, stderr }: CommandIo): void {
  const { code = 'FAILED', message } = signal.aborted ? { code: 'CALL_ABORTED', message: 'the answer was stopped' } : err
  if (json) stdout.write(`${toPlainLines(JSON.stringify({ error: { code, message } }))}\n`)
  else stderr.write(`\n${toPlainText(message)}\n`)
}
