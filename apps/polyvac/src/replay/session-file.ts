import { isRecord, isTooDeep, readBoundedFile } from '@polyvac/core/plugin'
import { SessionFileError } from '../errors.js'

/** Bounds of a session file. The playground keeps 200 exchanges with at most 10,000 frames of 64 KiB. */
export const MAX_SESSION_BYTES = 64 * 1024 * 1024
export const MAX_SESSION_LINES = 1_000
export const MAX_EXCHANGE_FRAMES = 10_000
/** The playground cuts a longer frame there, and keeps as many frames as above. */
export const MAX_FRAME_CHARS = 64 * 1024

type Texts = Readonly<Record<string, string>>

/** One request of a session and what the service answered; the shape is that of the playground's `Exchange`. */
export interface RecordedExchange {
  /** Its line of the file, from 1. */
  readonly line: number
  readonly id: string
  readonly label: string
  readonly request: { readonly method: string, readonly path: string, readonly headers: Texts, readonly body?: unknown }
  /** Absent where no response arrived. */
  readonly status: number | undefined
  readonly headers: Texts
  readonly frames: readonly string[]
  /** The answer goes on after the last frame: it was stopped, failed, or was too long for the session. */
  readonly isPartial: boolean
  readonly endedAt: number | undefined
}

/**
 * The exchanges of a session that the playground exported, in the order of the file.
 * @throws SESSION_FILE with the number of the line that is not one
 */
export async function readSession (file: string): Promise<readonly RecordedExchange[]> {
  const bytes = await readBoundedFile(file, MAX_SESSION_BYTES).catch((err: Error) => { throw new SessionFileError(file, err.message) })
  const lines: RecordedExchange[] = []
  let isHeader = true
  for (const [index, value] of jsonLines(file, bytes)) {
    const fail = (reason: string): Error => new SessionFileError(file, `line ${index} ${reason}`)
    if (isHeader) {
      if (!isRecord(value) || value.polyvac !== 'session') throw fail('is not the header of a session: {"polyvac":"session","version":1}')
      if (value.version !== 1) throw fail(`has the version ${JSON.stringify(value.version)?.slice(0, 20)}; this command reads version 1`)
      isHeader = false
      continue
    }
    if (lines.length === MAX_SESSION_LINES) throw fail(`is one exchange too many: a session has at most ${MAX_SESSION_LINES}`)
    lines.push(readExchange(value, index, fail))
  }
  if (isHeader) throw new SessionFileError(file, 'it is empty')
  return lines
}

function * jsonLines (file: string, bytes: Buffer): Generator<[number, unknown]> {
  let index = 0
  for (let start = 0; start < bytes.length; index++) {
    const end = bytes.indexOf(0x0a, start)
    const text = bytes.toString('utf8', start, end === -1 ? bytes.length : end).trim()
    start = end === -1 ? bytes.length : end + 1
    if (text === '') continue
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      throw new SessionFileError(file, `line ${index + 1} is not JSON`)
    }
    yield [index + 1, value]
  }
}

function readExchange (value: unknown, line: number, fail: (reason: string) => Error): RecordedExchange {
  if (!isRecord(value) || !isRecord(value.request)) throw fail('has no `request`')
  const { request, frames = [], status, headers = {}, received, error, endedAt, id, label } = value
  const { method, path, headers: sent = {}, body } = request
  if (typeof method !== 'string' || !/^[A-Z]{1,10}$/.test(method)) throw fail('has no `request.method`')
  if (typeof path !== 'string' || !path.startsWith('/') || !URL.canParse(`http://localhost${path}`)) throw fail('has no `request.path` that starts with /')
  if (isTooDeep(body)) throw fail('has a `request.body` that is nested too deeply')
  if (!isTexts(sent) || !isTexts(headers)) throw fail('has headers that are not an object of texts')
  if (status !== undefined && typeof status !== 'number') throw fail('has a `status` that is not a number')
  if (!Array.isArray(frames) || !frames.every(frame => isRecord(frame) && typeof frame.text === 'string')) throw fail('has `frames` without text')
  if (frames.length > MAX_EXCHANGE_FRAMES) throw fail(`has ${frames.length} frames; at most ${MAX_EXCHANGE_FRAMES} are read`)
  const texts = (frames as Array<{ text: string }>).map(({ text }) => text)
  const cut = texts.findIndex(text => text.length >= MAX_FRAME_CHARS)
  return {
    line,
    id: String(id ?? line),
    label: typeof label === 'string' ? label : `${method} ${path}`,
    request: { method, path, headers: sent, ...body === undefined ? {} : { body } },
    status,
    headers,
    frames: cut === -1 ? texts : texts.slice(0, cut),
    isPartial: cut !== -1 || error !== undefined || endedAt === undefined || texts.length === MAX_EXCHANGE_FRAMES ||
      (isRecord(received) && Number(received.frames) > texts.length),
    endedAt: typeof endedAt === 'number' ? endedAt : undefined
  }
}

const isTexts = (value: unknown): value is Texts => isRecord(value) && Object.values(value).every(text => typeof text === 'string')
