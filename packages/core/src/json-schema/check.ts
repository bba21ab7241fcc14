/**
 * Steps of one pass of a check, each of up to 0.1 us: visits of subschemas and members, comparisons, characters that a
 * pattern reads.
 */
export const MAX_STEPS = 200_000
/** Subschemas that apply one within another; JSON values of requests have at most 64 levels. */
export const MAX_CHECK_DEPTH = 1_000
/** Problems reported about one value. */
export const MAX_PROBLEMS = 20
/** Characters of a path, a pattern or a value in the text of a problem. */
const MAX_SHOWN_CHARS = 200

/** Ends a check that needs too many steps, or a feature that is not supported. */
export class Uncheckable extends Error {
  constructor (reason: string, readonly isCostly = false) {
    super(reason)
  }
}

const TOO_MANY_STEPS = new Uncheckable('too many steps', true)

/** One check of one value. Its first pass ends at the first problem; a second pass collects problems. */
export class Check {
  #steps = MAX_STEPS
  #depth = 0
  // @keyed none: a list of one check; MAX_CHECK_DEPTH
  readonly #path: Array<string | number> = []

  /** @param problems the list to which a pass that collects them adds problems */
  constructor (public problems?: string[]) {}

  /** @throws Uncheckable where no steps are left */
  spend (steps: number): void {
    if ((this.#steps -= steps) < 0) throw TOO_MANY_STEPS
  }

  get isSpent (): boolean { return this.#steps < 0 }

  enter (): void {
    if (--this.#steps < 0 || ++this.#depth > MAX_CHECK_DEPTH) throw TOO_MANY_STEPS
  }

  leave (): void { this.#depth-- }

  /** Whether more problems are of no interest. */
  get isDone (): boolean { return this.problems === undefined || this.problems.length >= MAX_PROBLEMS }

  /** Runs a check of a member of the value. */
  within (key: string | number, node: Checkable, value: unknown): boolean {
    if (this.problems === undefined) return node.accepts(value, this)
    this.#path.push(key)
    const isValid = node.accepts(value, this)
    this.#path.pop()
    return isValid
  }

  /** Whether a value fits, where that it does not is not a problem. */
  matches (node: Checkable, value: unknown): boolean {
    const { problems } = this
    this.problems = undefined
    const isValid = node.accepts(value, this)
    this.problems = problems
    return isValid
  }

  /** @param key the member that the problem is about */
  fail (problem: string | (() => string), key?: string): false {
    if (this.isDone) return false
    const path = [...this.#path, ...key === undefined ? [] : [key]].map(part => `/${part}`).join('')
    const text = `${shorten(path)}: ${typeof problem === 'string' ? problem : problem()}`
    if (this.problems?.includes(text) === false) this.problems.push(text)
    return false
  }
}

interface Checkable { accepts (value: unknown, check: Check): boolean }

export function shorten (text: string): string {
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}…`
}
