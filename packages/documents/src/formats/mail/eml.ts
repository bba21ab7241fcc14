import { readMessage } from './message.js'
import type { SplitFile } from '../format.js'

/** One message. Its numbers count the lines of its text as it is read. */
export async function splitEml (bytes: Uint8Array): Promise<SplitFile> {
  const { passages, isEncrypted } = await readMessage(bytes)
  return { passages, missing: isEncrypted ? 'its text, which is encrypted' : undefined }
}
