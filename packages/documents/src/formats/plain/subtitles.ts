import { PassageBuilder, type Passage } from '../../text/passages.js'

const TIMES = /^\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s+-->\s/

/** SubRip and WebVTT: the text that is spoken, without numbers, times, styles and marks. */
export function splitSubtitles (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = text.split(/\r?\n/)
  let isSpoken = false
  for (const [index, line] of lines.entries()) {
    if (TIMES.test(line)) isSpoken = true
    else if (line.trim() === '') isSpoken = false
    else if (isSpoken) {
      const plain = line.replace(/<v(?:\.[\w.]+)?\s+([^>]+)>/g, '$1: ').replace(/<[^>]*>|\{\\[^}]*\}/g, '').trim()
      builder.line(plain, index + 1)
    }
  }
  return builder.finish()
}
