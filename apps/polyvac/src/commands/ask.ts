import type { Vac, Vacs } from '@polyvac/core'
import { nearest } from '@polyvac/core/basics'
import { converse, writeAnswer } from '../client/conversation.js'
import { UsageError } from '../errors.js'
import { speakerOf } from './chat.js'
import { withVacs } from './with-vacs.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** `polyvac ask`: answers one question, or holds a conversation on a terminal, in this process, without a server. */
export async function ask (args: Arguments, io: CommandIo): Promise<void> {
  await withVacs(args, io, async ({ vacs, ready }) => {
    const { vac, question } = toQuestion(vacs, args.words)
    if (question?.trim() === '' || (question === undefined && io.stdin.isTTY !== true)) {
      throw new UsageError(`${question === undefined ? 'polyvac ask needs a question' : 'the question is blank'}, for example: polyvac ask "How do I start?"`)
    }
    await ready(vac.name)
    if (question === undefined) return await converse(vac.name, speakerOf(vac), args, io)
    const stop = new AbortController()
    const onInterrupt = (): void => stop.abort(new Error('interrupted'))
    io.once('SIGINT', onInterrupt)
    try {
      const { metadata } = await writeAnswer(speakerOf(vac)(question, [], stop.signal), args.json && 'pretty', io)
      if (args.fail && metadata?.['answered'] === false) io.exitCode = 1
    } finally {
      io.off('SIGINT', onInterrupt)
    }
  })
}

function toQuestion (vacs: Vacs, words: readonly string[]): { vac: Vac, question: string | undefined } {
  const [first, ...rest] = words
  if (first !== undefined && vacs.has(first)) {
    return { vac: vacs.get(first), question: rest.length === 0 ? undefined : rest.join(' ') }
  }
  const near = first === undefined || /\s/.test(first) ? undefined : nearest(first, vacs.names)
  // one word before a question in quotation marks is a name; words without them may all be the question
  if (near !== undefined && rest.length === 1 && /\s/.test(rest[0]!)) {
    throw new UsageError(`there is no VAC ${JSON.stringify(first)}; did you mean ${JSON.stringify(near)}?`)
  }
  if (vacs.names.length !== 1) throw new UsageError(`name the VAC to ask: ${vacs.names.join(', ')}`)
  return { vac: vacs.get(vacs.names[0]!), question: words.length === 0 ? undefined : words.join(' ') }
}
