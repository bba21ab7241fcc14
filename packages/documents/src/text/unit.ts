/** A part of a passage that can be part of an answer. */
export interface Unit {
  readonly kind: 'sentence' | 'item' | 'row' | 'code'
  /** Without link syntax and emphasis, with inline code; a code block has its fences. */
  readonly text: string
  /** A code block or list that this sentence introduces ("Run it like this:"). */
  readonly below?: string | undefined
}
