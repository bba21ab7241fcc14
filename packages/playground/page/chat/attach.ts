import type { Attachment } from '../protocols/attachments.js'

/** Base64 characters of the files of a question; services take bodies of 1 MiB. */
export const MAX_ATTACHED_CHARS = 720 * 1024
/** Longest side of a picture that is sent, in pixels: models make larger ones smaller. */
const MAX_SIDE = 1_568

/** A file for a question; a large picture is made smaller. @throws Error with what a person does */
export async function readFile (file: File, takes: readonly string[], others: readonly Attachment[]): Promise<Attachment> {
  const isPicture = file.type.startsWith('image/')
  if (!takes.includes(isPicture ? 'images' : 'files')) throw new Error(`${file.name} is not sent: this agent takes ${takes.join(' and ')}.`)
  const content = isPicture ? await smaller(file).catch(() => file) : file
  const left = MAX_ATTACHED_CHARS - others.reduce((sum, { bytes = '' }) => sum + bytes.length, 0)
  if (content.size * 4 / 3 > left) throw new Error(`${file.name} is not sent: the files of a question may have ${Math.floor(MAX_ATTACHED_CHARS * 3 / 4 / 1024)} KiB.`)
  return { name: file.name, type: content.type || 'application/octet-stream', bytes: await base64(content) }
}

async function smaller (file: File): Promise<Blob> {
  const picture = await createImageBitmap(file)
  const scale = Math.min(1, MAX_SIDE / Math.max(picture.width, picture.height))
  if (scale === 1 && file.size < MAX_ATTACHED_CHARS / 4) return file
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(picture.width * scale)), Math.max(1, Math.round(picture.height * scale)))
  canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height)
  return await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 })
}

async function base64 (content: Blob): Promise<string> {
  const reader = new FileReader()
  const url = await new Promise<string>((resolve, reject) => {
    reader.onload = () => { resolve(String(reader.result)) }
    reader.onerror = () => { reject(new Error('The file cannot be read.')) }
    reader.readAsDataURL(content)
  })
  return url.slice(url.indexOf(',') + 1)
}
