/** A `${…}` that has no value. `at` is its offset in the text. */
export interface InterpolationProblem {
  readonly at: number
  readonly length: number
  readonly message: string
  /** The variable, where the only problem is that it is not set. */
  readonly unset?: string | undefined
}

export interface Interpolation {
  readonly text: string
  /** Names of the variables that were read. */
  readonly variables: readonly string[]
  readonly problems: readonly InterpolationProblem[]
}

/** Longest part of the text in a message. */
const MAX_SHOWN_CHARS = 80

const REFERENCE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([-?])([^}]*))?\}|\$\{[^}]*\}?/g

/**
 * Fills `${VAR}`, `${VAR:-default}` and `${VAR:?message}` from the environment; `$$` stands for one `$`. As in a
 * shell, `:-` and `:?` also act on a variable that is set but empty.
 */
export function interpolate (text: string, env: Readonly<Record<string, string | undefined>>): Interpolation {
  const variables: string[] = []
  const problems: InterpolationProblem[] = []
  type Part = string | undefined
  const filled = text.replace(REFERENCE, (whole, name: Part, mark: Part, rest: Part, at: number) => {
    if (whole === '$$') return '$'
    if (name === undefined) {
      const shown = whole.length > MAX_SHOWN_CHARS ? `${whole.slice(0, MAX_SHOWN_CHARS)}…` : whole
      const why = /^\$\{[A-Za-z]+:[^-?]/.test(whole) ? 'is filled in only by an MCP client' : 'is not a variable'
      const message = `${shown} ${why}; write \${NAME}, \${NAME:-default}, or $$ for a dollar sign`
      problems.push({ at, length: whole.length, message })
      return whole
    }
    variables.push(name)
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || mark === undefined)) return value
    if (mark === '-') return rest ?? ''
    problems.push({
      at,
      length: whole.length,
      unset: mark === undefined ? name : undefined,
      message: mark === '?' && rest !== ''
        ? `${name} is not set: ${rest}`
        : `the environment variable ${name} is not set; set it, or give a default: \${${name}:-value}`
    })
    return whole
  })
  return { text: filled, variables, problems }
}
