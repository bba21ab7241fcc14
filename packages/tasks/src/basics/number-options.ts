import { InvalidStoreOptionError } from './errors.js'

/** Longest time in ms that a timer of Node.js can wait; it fires a longer one at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Default, smallest and largest value of an option; all are whole numbers. */
export type NumberRule = readonly [fallback: number | undefined, min: number, max?: number]

type Numbers<Rules> = { readonly [Name in keyof Rules]: Rules[Name] extends readonly [number, ...unknown[]] ? number : number | undefined }

/** The largest value: a time in ms must fit into a timer, unless the rule sets another bound. */
export function maxOf (name: string, [, , max]: NumberRule): number {
  return max ?? (name.endsWith('Ms') ? MAX_TIMER_MS : Number.MAX_SAFE_INTEGER)
}

/** Checks the options that are numbers and fills in their defaults. @throws TASK_STORE_OPTION */
export function readNumbers<const Rules extends Readonly<Record<string, NumberRule>>> (rules: Rules,
  options: { readonly [Name in keyof Rules]?: number | undefined }): Numbers<Rules> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => {
    const value: unknown = options[name] === undefined ? rule[0] : options[name]
    const [min, max] = [rule[1], maxOf(name, rule)]
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max)) {
      throw new InvalidStoreOptionError(name, String(value), `a whole number from ${min} to ${max}`)
    }
    return [name, value]
  })) as Numbers<Rules>
}
