import { readMessage } from './message.js'
import type { Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Messages of a file that are read. */
const MAX_MESSAGES = 20_000

/** The line before a message: "From", the sender and the time of receipt, which ends with the year. */
const SEPARATOR = /^From \S.*\d{4}\s*$/
/** Longest such line, in bytes. */
const MAX_SEPARATOR = 300

/** The messages of an mbox file, one after the other; its numbers count them. A damaged one costs only itself. */
export async function splitMbox (bytes: Uint8Array): Promise<SplitFile> {
  const passages: Passage[] = []
  const missing: string[] = []
  let number = 0
  for (const message of messagesOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))) {
    if (++number > MAX_MESSAGES) {
      missing.push(`the messages past ${MAX_MESSAGES}`)
      break
    }
    try {
      const read = await readMessage(message)
      if (read.isEncrypted) missing.push(`the text of message ${number}, which is encrypted`)
      for (const passage of read.passages) passages.push({ ...passage, first: number, last: number })
    } catch (error) {
      // the package is missing: no message can be read
      if (number === 1 && (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') throw error
      missing.push(`message ${number}: ${(error as Error).message}`)
    }
  }
  if (number === 0) throw new Error('it is not an mbox: no line begins with "From "')
  return { passages, missing: missing.length > 0 ? `${missing.slice(0, 10).join('; ')}${missing.length > 10 ? ` and ${missing.length - 10} more` : ''}` : undefined }
}

function * messagesOf (bytes: Buffer): Generator<Buffer> {
  let start: number | undefined
  for (let at = bytes.indexOf('From '); at !== -1; at = bytes.indexOf('From ', at + 1)) {
    if (at > 0 && bytes[at - 1] !== 0x0a) continue
    const end = bytes.indexOf('\n', at)
    const line = bytes.subarray(at, Math.min(end === -1 ? bytes.length : end, at + MAX_SEPARATOR)).toString('latin1')
    if (!SEPARATOR.test(line)) continue
    if (start !== undefined) yield unquoted(bytes.subarray(start, at))
    start = end === -1 ? bytes.length : end + 1
  }
  if (start !== undefined) yield unquoted(bytes.subarray(start))
}

/** A line of the text that begins with "From " has a ">" before it. */
function unquoted (message: Buffer): Buffer {
  return message.includes('>From ') ? Buffer.from(message.toString('latin1').replace(/^>(>*From )/gm, '$1'), 'latin1') : message
}
