import type { Attachment } from '../protocols/attachments.js'
import { nextKey, type Answer } from './answer.js'

const KEY = 'polyvac.chat'
/** Turns that are kept over a reload, and sent with the next question. */
export const MAX_TURNS = 50
/** Characters of the turns that are kept over a reload, as JSON: browsers keep about 5 Mi of a tab. */
export const MAX_STORED_CHARS = 4 * 1024 * 1024
/** Longer contents of files, in characters, are forgotten with a reload. */
const MAX_STORED_FILE = 64 * 1024

/** The JSON of answers that were stored before; those that do not change are not converted again. */
const known = new WeakMap<Answer, string>()

/** The conversation that the tab had before a reload. */
export function readKept (): Answer[] {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Answer[]).map(answer => ({ ...answer, key: nextKey(), exchange: undefined }))
  } catch {
    return []
  }
}

/** Keeps the newest turns over a reload, as many as the browser takes. */
export function keep (answers: readonly Answer[]): void {
  const kept: string[] = []
  let left = MAX_STORED_CHARS
  for (const answer of answers.slice(-MAX_TURNS).reverse()) {
    const text = known.get(answer) ?? JSON.stringify({ ...answer, files: answer.files?.map(withoutLong), attached: answer.attached?.map(withoutLong) })
    known.set(answer, text)
    left -= text.length
    if (left < 0) break
    kept.unshift(text)
  }
  try {
    sessionStorage.setItem(KEY, `[${kept.join(',')}]`)
  } catch {
    // more than the browser keeps: a reload starts an empty conversation
    sessionStorage.removeItem(KEY)
  }
}

const withoutLong = (file: Attachment): Attachment =>
  (file.bytes ?? file.text ?? '').length > MAX_STORED_FILE ? { ...file, bytes: undefined, text: undefined } : file
