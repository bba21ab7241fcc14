/** What a model writes before its answer, where its server does not keep it apart: `<think>…</think>` and the like. */
const TAG = /`+|~{3,}|\n|<(\/?)(?:think|thinking|thought|reasoning)\s*>|\[(\/?)THINK\]/gi
const CLOSING = /<\/(?:think|thinking|thought|reasoning)\s*>|\[\/THINK\]/i
/** The end of a text that the next piece may make a tag or a run of ticks; a tag has at most 20 characters. */
const PARTIAL = /(?:<\/?[a-z]{0,9}\s{0,8}|\[\/?[a-z]{0,5}|`+|~+)$/i
const LONGEST_TAG = 20

/** In the place of a text: a thought begins, or all text before was one. */
export const THOUGHT_BEGINS = Symbol('a thought begins')
export const THOUGHT_WAS_ALL = Symbol('all text before was a thought')

/** A piece of what a model writes. */
export type ModelPiece = string | typeof THOUGHT_BEGINS | typeof THOUGHT_WAS_ALL

/** What callers see of a thought. */
export const THINKING = { progress: 0.7, message: 'thinking' } as const

/**
 * Takes the thoughts of a model out of its text, however the pieces are cut. Code is not changed. A tag that
 * closes what was never opened means that all text before it was a thought: some templates open it in the prompt.
 */
export class ThinkingFilter {
  #held = ''
  #isThinking = false
  /** White space after a thought belongs to it. */
  #trims = false
  #isLineStart = true
  /** The ticks that end the code of this line, and those that end a block of code. */
  #inline = ''
  #fence = ''

  /** What can be sent now; a possible beginning of a tag is held back. */
  push (text: string): ModelPiece[] {
    return this.#read(this.#held + text, false)
  }

  /** What was held back at the end. */
  end (): ModelPiece[] {
    return this.#read(this.#held, true)
  }

  #read (text: string, isEnd: boolean): ModelPiece[] {
    const pieces: ModelPiece[] = []
    let rest = text
    while (rest !== '') {
      if (this.#isThinking) {
        const close = CLOSING.exec(rest)
        if (close === null) {
          this.#held = isEnd ? '' : rest.slice(-LONGEST_TAG)
          return pieces
        }
        rest = rest.slice(close.index + close[0].length)
        this.#isThinking = false
        this.#trims = true
        continue
      }
      const cut = isEnd ? rest.length : PARTIAL.exec(rest)?.index ?? rest.length
      const [before, tag, after] = this.#nextTag(rest, cut)
      this.#add(pieces, before)
      rest = after
      if (tag === undefined) break
      if (tag === 'opens') {
        this.#isThinking = true
        pieces.push(THOUGHT_BEGINS)
      } else {
        this.#trims = true
        pieces.push(THOUGHT_WAS_ALL)
      }
    }
    this.#held = rest
    return pieces
  }

  /** The text before the first tag outside code, that tag, and what follows; without one the text up to `cut`. */
  #nextTag (text: string, cut: number): [before: string, tag: 'opens' | 'closes' | undefined, after: string] {
    let from = 0
    for (const match of text.slice(0, cut).matchAll(TAG)) {
      const [token, slash, bracketSlash] = match
      this.#noteText(text.slice(from, match.index))
      from = match.index + token.length
      if (slash === undefined && bracketSlash === undefined) this.#noteCode(token)
      else if (this.#inline === '' && this.#fence === '') return [text.slice(0, match.index), (slash ?? bracketSlash) === '' ? 'opens' : 'closes', text.slice(from)]
    }
    this.#noteText(text.slice(from, cut))
    return [text.slice(0, cut), undefined, text.slice(cut)]
  }

  #noteText (text: string): void {
    if (!/^\s*(?:[-*+>]|\d+[.)])?\s*$/.test(text)) this.#isLineStart = false
  }

  #noteCode (token: string): void {
    if (token === '\n') {
      this.#isLineStart = true
      this.#inline = ''
    } else if (this.#fence !== '') {
      if (this.#isLineStart && token.startsWith(this.#fence)) this.#fence = ''
      this.#isLineStart = false
    } else {
      if (this.#isLineStart && token.length >= 3) this.#fence = token
      else if (token.startsWith('`')) this.#inline = this.#inline === '' ? token : this.#inline === token ? '' : this.#inline
      this.#isLineStart = false
    }
  }

  #add (pieces: ModelPiece[], text: string): void {
    const shown = this.#trims ? text.trimStart() : text
    if (shown === '') return
    this.#trims = false
    pieces.push(shown)
  }
}
