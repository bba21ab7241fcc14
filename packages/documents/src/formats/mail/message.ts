import type { Address, Attachment, Email } from 'postal-mime'
import { addHtml } from '../markup/html.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'

/** Attachments that are named, and addresses of a header. */
const MAX_ATTACHMENTS = 200
const MAX_ADDRESSES = 50
/** Longest header that is read, in characters. */
const MAX_HEADER = 500

/** Types of parts that hold the text of an encrypted message. */
const ENCRYPTED = /^application\/(?:pgp-encrypted|(?:x-)?pkcs7-mime)$/

export interface ReadMessage { readonly passages: Passage[], readonly isEncrypted: boolean }

/**
 * Reads a message: the subject is the heading; sender, receivers and date are lines; then its text, or the text of its
 * HTML, and the names of the attachments, which are not read. @throws an error of postal-mime, or of its import
 */
export async function readMessage (bytes: Uint8Array): Promise<ReadMessage> {
  const { default: PostalMime } = await import('postal-mime')
  const message = await PostalMime.parse(bytes, { maxNestingDepth: 50, maxRfc822NestingDepth: 5, maxHeadersSize: 256 * 1024 })
  const builder = new PassageBuilder()
  const subject = message.subject?.replace(/\s+/g, ' ').trim() ?? ''
  if (subject !== '') builder.heading(1, subject, 1)
  let line = 0
  for (const header of headersOf(message)) builder.line(`- ${header}`, ++line)
  builder.line('', ++line)
  const text = message.text ?? ''
  if (text.trim() !== '') for (const one of text.trimEnd().split(/\r?\n/)) builder.line(one, ++line)
  else if (message.html !== undefined) {
    addHtml(builder, message.html, line)
    line += message.html.split('\n').length
  }
  const attachments = message.attachments.filter(({ disposition, related }) => disposition !== 'inline' || related !== true)
  if (attachments.length > 0) builder.line('', ++line)
  for (const attachment of attachments.slice(0, MAX_ATTACHMENTS)) builder.line(`- ${describe(attachment)}`, ++line)
  return { passages: builder.finish(), isEncrypted: message.attachments.some(({ mimeType }) => ENCRYPTED.test(mimeType)) }
}

function headersOf ({ from, to, cc, date }: Email): string[] {
  const fields = [['From', from === undefined ? [] : [from]], ['To', to ?? []], ['Cc', cc ?? []]] as const
  const lines = fields.filter(([, all]) => all.length > 0).map(([name, all]) => `${name}: ${namesOf(all)}`)
  const sent = date?.replace(/T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/, ' $1 UTC')
  return [...lines, ...sent === undefined ? [] : [`Date: ${sent}`]].map(line => line.replace(/\s+/g, ' ').slice(0, MAX_HEADER))
}

function namesOf (addresses: readonly Address[]): string {
  const all = addresses.flatMap(one => one.group ?? [one])
  return all.slice(0, MAX_ADDRESSES).map(({ name, address }) => name === '' ? address : `${name} <${address}>`).join(', ')
}

function describe ({ filename, mimeType, content }: Attachment): string {
  const bytes = typeof content === 'string' ? content.length : content.byteLength
  const size = bytes < 1_024 ? `${bytes} bytes` : bytes < 1_024 * 1_024 ? `${Math.round(bytes / 1_024)} KiB` : `${(bytes / 1_024 / 1_024).toFixed(1)} MiB`
  return `Attachment: ${(filename ?? 'without a name').replace(/\s+/g, ' ').slice(0, MAX_HEADER)} (${mimeType}, ${size})`
}
