import { createInterface } from 'node:readline/promises'
import { isAnswer, type Answer, type Vac } from '@polyvac/core'
import { converse, type Speaker } from '../client/conversation.js'
import { InterpreterCauseError, UsageError } from '../errors.js'
import { HttpClient } from '../client/http-client.js'
import { KeptConversations } from '../client/kept-conversations.js'
import { findService } from '../client/service-speaker.js'
import { toPlainText } from '../terminal.js'
import { withVacs } from './with-vacs.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** `polyvac chat`: holds a conversation with a VAC of the configuration, or of the running service of `--url`. */
export async function chat (args: Arguments, io: CommandIo): Promise<void> {
  const [wanted] = args.words
  if (args.url === undefined) {
    return await withVacs(args, io, async ({ vacs, ready }) => {
      const vac = vacs.get(await chooseVac(vacs.names, wanted, io))
      await ready(vac.name)
      await converse(vac.name, speakerOf(vac), args, io)
    })
  }
  const client = new HttpClient(args.url, args.headers)
  const service = await findService(client)
  const name = await chooseVac(service.names, wanted, io)
  const kept = new KeptConversations(client, name, args.conversation)
  if (args.conversation !== undefined) service.requireKept()
  await converse(name, service.speakerOf(name, kept), args, io, kept)
}

/** Answers of a VAC of this process. */
export function speakerOf (vac: Vac): Speaker {
  return async function * (question, history, signal) {
    try {
      for await (const chunk of vac.stream({ question, history, signal, protocol: 'code' })) {
        if (typeof chunk === 'string') yield chunk
        else if (isAnswer(chunk)) yield withServer(chunk, vac)
      }
    } catch (err) {
      const { code, cause } = err as Error & { code?: unknown }
      throw code === 'VAC_INTERPRETER_FAILED' && cause instanceof Error ? new InterpreterCauseError(JSON.stringify(vac.name), withPlace(cause)) : err
    }
  }
}

/** The reason why a language model was not used, with the origin of its server: a remote caller does not learn it. */
function withServer (answer: Answer, { config }: Vac): Answer {
  const { metadata } = answer
  const url = config.openai?.base_url ?? process.env.OPENAI_BASE_URL
  if (metadata?.['mode'] !== 'extractive-fallback' || url === undefined || !URL.canParse(url)) return answer
  return { ...answer, metadata: { ...metadata, reason: `${new URL(url).origin}: ${String(metadata['reason'])}` } }
}

/** The message of an error, with the file, line and column of its first stack frame. This command logs no calls. */
function withPlace ({ message, stack = '' }: Error): string {
  const place = /^\s+at .*?([^\s()]+:\d+:\d+)\)?$/m.exec(stack)?.[1]?.replace(/\?[^:]*/, '')
  return place === undefined ? message : `${message} (${place})`
}

/** @throws USAGE without a name where there are several and no terminal to choose on */
async function chooseVac (names: readonly string[], wanted: string | undefined, { stdin, stderr }: CommandIo): Promise<string> {
  if (wanted !== undefined && !names.includes(wanted)) throw new UsageError(`${JSON.stringify(wanted)} is not a VAC; there are ${names.join(', ')}`)
  const only = wanted ?? (names.length === 1 ? names[0] : undefined)
  if (only !== undefined) return only
  if (stdin.isTTY !== true) throw new UsageError(`name the VAC to chat with: ${names.join(', ')}`)
  const lines = createInterface({ input: stdin, output: stderr })
  try {
    names.forEach((name, index) => stderr.write(`  ${index + 1}  ${toPlainText(name)}\n`))
    const text = (await lines.question('number or name of the VAC: ')).trim()
    const chosen = names.find((name, index) => name === text || String(index + 1) === text)
    if (chosen === undefined) throw new UsageError(`${JSON.stringify(text)} is not one of ${names.join(', ')}`)
    return chosen
  } finally {
    lines.close()
  }
}
