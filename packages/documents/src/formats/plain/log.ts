import { PassageBuilder, type Passage } from '../../text/passages.js'

/** A log: each line is an item, with the lines below it that are indented, such as those of a stack. */
export function splitLog (text: string): Passage[] {
  const builder = new PassageBuilder()
  for (const [index, line] of text.split(/\r?\n/).entries()) builder.line(line.trim() === '' || /^\s/.test(line) ? line : `- ${line}`, index + 1)
  return builder.finish()
}
