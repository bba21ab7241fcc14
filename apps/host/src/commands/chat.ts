import { createInterface } from 'node:readline/promises'
import { isAnswer, type Answer, type Vac } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { converse, type Speaker } from '../conversation.js'
import { ServiceError, UsageError } from '../errors.js'
import { describeFailure, HttpClient, MAX_REPLY_BYTES } from '../http-client.js'
import { toPlainText } from '../terminal.js'
import { withVacs } from './with-vacs.js'
import type { Arguments } from '../arguments.js'

/** The longest answer of a service; its own `stream_timeout` is 120 s unless it is set otherwise. */
const MAX_ANSWER_MS = 3_600_000

/** `polyvac chat`: holds a conversation with a VAC of the configuration, or of the running service of `--url`. */
export async function chat (args: Arguments): Promise<void> {
  const [wanted] = args.words
  if (args.url === undefined) {
    return await withVacs(args, async vacs => {
      const vac = vacs.get(await chooseVac(vacs.names, wanted))
      await converse(vac.name, speakerOf(vac), args)
    })
  }
  const client = new HttpClient(args.url, args.headers)
  const name = await chooseVac(await listVacs(client), wanted)
  await converse(name, serviceSpeaker(client, name), args)
}

/** Answers of a VAC of this process. */
export function speakerOf (vac: Vac): Speaker {
  return async function * (question, history, signal) {
    for await (const chunk of vac.stream({ question, history, signal, protocol: 'code' })) {
      if (typeof chunk === 'string' || isAnswer(chunk)) yield chunk
    }
  }
}

/** Answers of a service over its direct streaming route, as NDJSON. */
function serviceSpeaker (client: HttpClient, name: string): Speaker {
  return async function * (question, history, signal) {
    const path = `vac/streaming/${encodeURIComponent(name)}`
    const body = { user_input: question, chat_history: history }
    const reply = await client.open(path, { headers: { accept: 'application/x-ndjson' }, body, signal, maxMs: MAX_ANSWER_MS })
    let rest = ''
    for await (const { text } of reply.pieces) {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      if (rest.length > MAX_REPLY_BYTES) throw new ServiceError(client.base.href, 'a line of the answer is longer than 4 MiB')
      for (const line of lines) yield * readEvent(client, line)
    }
    yield * readEvent(client, rest, reply.status)
  }
}

function * readEvent (client: HttpClient, line: string, status = 200): Generator<string | Answer> {
  if (line.trim() === '') return
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    throw new ServiceError(client.base.href, `it answered ${status} with text that is not NDJSON; name a Polyvac service`)
  }
  if (!isRecord(event)) return
  if (isRecord(event.error)) throw new ServiceError(client.base.href, String(event.error.message ?? event.error.code))
  if (typeof event.chunk === 'string') yield event.chunk
  else if (typeof event.answer === 'string') yield event as unknown as Answer
}

async function listVacs (client: HttpClient): Promise<readonly string[]> {
  const reply = await client.send('vac').catch((err: unknown) => { throw new ServiceError(client.base.href, describeFailure(err)) })
  const vacs = isRecord(reply.json) && Array.isArray(reply.json.vacs) ? reply.json.vacs.filter(isRecord) : undefined
  if (vacs !== undefined) return vacs.map(({ name }) => String(name))
  throw new ServiceError(client.base.href, reply.status === 401 || reply.status === 403
    ? `it answered ${reply.status}; send a token with --header 'authorization: Bearer …'`
    : `GET /vac answered ${reply.status} without a list of VACs; polyvac doctor ${client.base.href} shows what it offers`)
}

/** @throws USAGE without a name where there are several and no terminal to choose on */
async function chooseVac (names: readonly string[], wanted: string | undefined): Promise<string> {
  if (wanted !== undefined && !names.includes(wanted)) throw new UsageError(`${JSON.stringify(wanted)} is not a VAC; there are ${names.join(', ')}`)
  const only = wanted ?? (names.length === 1 ? names[0] : undefined)
  if (only !== undefined) return only
  if (process.stdin.isTTY !== true) throw new UsageError(`name the VAC to chat with: ${names.join(', ')}`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    names.forEach((name, index) => process.stderr.write(`  ${index + 1}  ${toPlainText(name)}\n`))
    const text = (await lines.question('number or name of the VAC: ')).trim()
    const chosen = names.find((name, index) => name === text || String(index + 1) === text)
    if (chosen === undefined) throw new UsageError(`${JSON.stringify(text)} is not one of ${names.join(', ')}`)
    return chosen
  } finally {
    lines.close()
  }
}
