interface Range { readonly min: number, readonly max?: number, readonly integer?: true }

/** The ranges of numbers, as the OpenAI API checks them. */
const NUMBERS: Readonly<Record<string, Range>> = {
  temperature: { min: 0, max: 2 },
  top_p: { min: 0, max: 1 },
  presence_penalty: { min: -2, max: 2 },
  frequency_penalty: { min: -2, max: 2 },
  max_tokens: { min: 1, integer: true },
  max_completion_tokens: { min: 1, integer: true },
  max_output_tokens: { min: 1, integer: true },
  max_tool_calls: { min: 1, integer: true },
  top_logprobs: { min: 0, max: 20, integer: true },
  seed: { min: Number.MIN_SAFE_INTEGER, integer: true }
}

/** What is wrong with a parameter that is a number; undefined if nothing is, and for other parameters. */
export function numberProblem (name: string, value: unknown): string | undefined {
  const range = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined
  if (range === undefined) return undefined
  const { min, max = Infinity, integer } = range
  const fits = typeof value === 'number' && value >= min && value <= max && (integer === undefined || Number.isInteger(value))
  if (fits) return undefined
  const kind = integer === undefined ? 'a number' : 'a whole number'
  if (max !== Infinity) return `must be ${kind} from ${min} to ${max}`
  return min === Number.MIN_SAFE_INTEGER ? `must be ${kind}` : `must be ${kind} of at least ${min}`
}
