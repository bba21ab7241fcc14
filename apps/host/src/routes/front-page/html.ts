import { escapeHtml } from '@polyvac/core/plugin'

/** Markup that needs no escape. Only the tag `html` makes it. */
export class Html {
  constructor (readonly text: string) {}
}

type Part = Html | string | number | ReadonlyArray<Html | string>

/** HTML whose values are escaped, in texts and in quoted attributes alike; a list is joined. */
export function html (strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(strings.map((text, i) => text + (i < values.length ? textOf(values[i]!) : '')).join(''))
}

function textOf (value: Part): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(textOf).join('')
  return escapeHtml(String(value))
}
