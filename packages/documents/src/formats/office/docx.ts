import { inflateXml } from './zip.js'
import { splitHtml } from '../markup/html.js'
import type { SplitFile } from '../format.js'

/** The paragraphs of a DOCX file. @throws the error of mammoth, or of its import */
export async function splitDocx (bytes: Uint8Array): Promise<SplitFile> {
  const { default: mammoth } = await import('mammoth')
  // without its images, which are text of megabytes
  const image = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer: await inflateXml(bytes) }, { convertImage: image })
  // each block is a line, so that a citation counts the paragraphs
  return { passages: splitHtml(value.replace(/<\/(?:p|h[1-6]|li|tr|table)>/g, '$&\n')) }
}
