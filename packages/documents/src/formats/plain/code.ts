import { PassageBuilder, type Passage } from '../../text/passages.js'

/** Source code: its parts are code blocks. */
export function splitCode (text: string, language: string): Passage[] {
  const builder = new PassageBuilder()
  for (const [index, line] of text.split(/\r?\n/).entries()) builder.line(line, index + 1)
  return builder.finish().map(passage => ({ ...passage, content: `\`\`\`${language}\n${passage.content}\n\`\`\`` }))
}
