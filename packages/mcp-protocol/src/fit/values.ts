import { isRecord } from '../is-record.js'

export type Fields = Readonly<Record<string, unknown>>

/** The value in the shape of its field: the same value where it fits, undefined where the field is to be left out. */
export type Fit = (value: unknown) => unknown

/** The fields of an object that have a shape. Fields that are not named stay. */
export type Shape = ReadonlyArray<readonly [field: string, fit: Fit]>

export const shapeOf = (fields: Readonly<Record<string, Fit>>): Shape => Object.entries(fields)

export const text: Fit = value => typeof value === 'string' ? value : undefined
export const number: Fit = value => typeof value === 'number' ? value : undefined
export const flag: Fit = value => typeof value === 'boolean' ? value : undefined
export const record: Fit = value => isRecord(value) ? value : undefined
export const oneOf = (...values: readonly unknown[]): Fit => value => values.includes(value) ? value : undefined
export const object = (shape: Shape): Fit => value => isRecord(value) ? fitFields(value, shape) : undefined

/** The list without the entries that do not fit; undefined for what is not a list. */
export const listOf = (fit: Fit): Fit => value => {
  if (!Array.isArray(value)) return undefined
  const list = value as unknown[]
  const fitted = list.map(fit)
  return fitted.every((one, i) => one === list[i] && one !== undefined) ? value : fitted.filter(one => one !== undefined)
}

/** The object with its fields in their shapes: the same object where all fit, as nearly all do. */
export function fitFields (value: Fields, shape: Shape): Fields {
  let fitted: Record<string, unknown> | undefined
  for (const [field, fit] of shape) {
    const before = value[field]
    if (before === undefined) continue
    const after = fit(before)
    if (after === before) continue
    fitted ??= { ...value }
    if (after === undefined) delete fitted[field]
    else fitted[field] = after
  }
  return fitted ?? value
}

/** A time as ISO 8601 with its zone; others are written as such where they are times. */
const time: Fit = value => {
  if (typeof value !== 'string') return undefined
  const [, year, month, day] = ISO.exec(value) ?? []
  if (year !== undefined && Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return value
  const at = new Date(value)
  return Number.isNaN(at.getTime()) || !FOUR_DIGITS.test(at.toISOString()) ? undefined : at.toISOString()
}
const ISO = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const FOUR_DIGITS = /^\d{4}-/

/** Annotations of resources and of content. */
export const annotations = object(shapeOf({
  audience: listOf(oneOf('user', 'assistant')),
  priority: value => typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined,
  lastModified: time
}))

export const icons = listOf(value => isRecord(value) && typeof value.src === 'string' ? fitFields(value, ICON) : undefined)
const ICON = shapeOf({
  mimeType: text,
  // one text, in drafts of 2025-11-25
  sizes: value => typeof value === 'string' ? [value] : listOf(text)(value),
  theme: oneOf('light', 'dark')
})
