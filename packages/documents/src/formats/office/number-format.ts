// Numbers of cells as their format shows them, where that does not depend on the language of the program.

/** Formats that Office knows by number only, where every language shows the same. */
const BUILT_IN: Readonly<Record<number, string>> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  37: '#,##0',
  38: '#,##0',
  39: '#,##0.00',
  40: '#,##0.00',
  14: 'date',
  15: 'date',
  16: 'date',
  17: 'date',
  18: 'h:mm',
  19: 'h:mm:ss',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'date',
  45: 'mm:ss',
  46: '[h]:mm:ss'
}
/** Of them, dates of East Asian programs. */
const isBuiltInDate = (id: number): boolean => (id >= 27 && id <= 36) || (id >= 50 && id <= 58)

/** Longest format that is read, in characters. */
const MAX_FORMAT = 200
/** Decimal places that are shown. */
const MAX_PLACES = 10
/** The day 0 of the calendar that begins with 1900, and of the one that begins with 1904, in days from 1970. */
const EPOCHS = { 1900: -25_569, 1904: -24_107 }
/** The last day of year 9999, in either calendar. */
const MAX_DAY = 2_958_465

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** How a format shows numbers. */
export type NumberFormat = (value: number) => string

/**
 * @param code the code of the format, where the file has one
 * @param from1904 whether day 0 is in 1904
 */
export function numberFormat (id: number, code: string | undefined, from1904: boolean): NumberFormat {
  const known = code ?? (isBuiltInDate(id) ? 'date' : BUILT_IN[id] ?? 'General')
  if (known === 'date') return value => isoDate(value, from1904)
  if (known.length > MAX_FORMAT || /^general$/i.test(known)) return plainNumber
  const [positive = '', negative] = sectionsOf(known)
  if (isDateCode(positive)) return value => dateOf(value, positive, from1904)
  return value => (value < 0 && negative !== undefined ? decimal(-value, negative) : decimal(value, positive)) ?? plainNumber(value)
}

/** A number with the 15 digits that are kept of it. */
export function plainNumber (value: number): string {
  return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)))
}

/** The parts of a code for positive and negative numbers; a semicolon in quotes divides nothing. */
function sectionsOf (code: string): string[] {
  return (code.match(/(?:"[^"]*"?|\\.|[^";\\])+|;/g) ?? []).join('\0').split('\0;\0').map(section => section.replaceAll('\0', ''))
}

/** A code without its texts, colours and languages. */
function bare (code: string): string {
  return code.replace(/"[^"]*"?|\\.|[_*]./g, '').replace(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '')
}

function isDateCode (code: string): boolean {
  return /[ymdhs]/i.test(bare(code).replace(/general/gi, ''))
}

/** Undefined where it is not certain how the format shows a number: conditions, fractions, powers of ten. */
function decimal (value: number, code: string): string | undefined {
  if (/\[[<>=]/.test(code)) return undefined
  const text = code
    .replace(/\[\$([^\]-]*)[^\]]*\]/g, (_, symbol: string) => `"${symbol}"`)
    .replace(/\[[^\]]*\]/g, '').replace(/_./g, ' ').replace(/\*./g, '').replace(/\\(.)/g, '"$1"')
  const digits = /[#0?][#0?,]*(?:\.[#0?]*)?/.exec(text.replace(/"[^"]*"/g, quoted => '\x01'.repeat(quoted.length)))
  if (digits === null) return undefined
  const before = text.slice(0, digits.index)
  const after = text.slice(digits.index + digits[0].length)
  const around = [before, after].map(part => part.replaceAll('"', ''))
  if (/[#0?@/]|[eE][+-]/.test([before, after].join('').replace(/"[^"]*"/g, '')) || /,(?:\.|$)/.test(digits[0])) return undefined
  const percent = /%/.test([before, after].join('').replace(/"[^"]*"/g, ''))
  const [whole = '', fraction = ''] = digits[0].split('.')
  const least = (fraction.match(/0/g) ?? []).length
  const most = Math.min(MAX_PLACES, fraction.length)
  const minimum = Math.min((whole.match(/0/g) ?? []).length, 20)
  const shown = (percent ? value * 100 : value)
  if (Math.abs(shown) >= 1e15) return undefined
  const figure = new Intl.NumberFormat('en-US', {
    useGrouping: whole.includes(','), minimumIntegerDigits: Math.max(1, minimum), minimumFractionDigits: Math.min(least, most), maximumFractionDigits: most
  }).format(Number(Math.abs(shown).toPrecision(15)))
  return `${value < 0 && Number(figure.replaceAll(',', '')) !== 0 ? '-' : ''}${around[0]}${figure}${around[1]}`.replace(/\s+/g, ' ').trim()
}

function isoDate (value: number, from1904: boolean): string {
  const date = dayOf(value, from1904)
  if (date === undefined) return plainNumber(value)
  const iso = date.toISOString()
  const time = iso.slice(11, iso.slice(17, 19) === '00' ? 16 : 19)
  return value < 1 ? time : value % 1 === 0 ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${time}`
}

function dayOf (value: number, from1904: boolean): Date | undefined {
  if (!(value >= 0 && value <= MAX_DAY)) return undefined
  // the calendar of 1900 has a 29 February in that year
  const day = !from1904 && value >= 1 && value < 60 ? value + 1 : value
  return new Date(Math.round((day + EPOCHS[from1904 ? 1904 : 1900]) * 86_400) * 1_000)
}

/** A date in the order of its format; in ISO 8601 where the language decides how it is shown. */
function dateOf (value: number, code: string, from1904: boolean): string {
  const date = dayOf(value, from1904)
  const names = /\[\$-(?:0?[48]09)[^\]]*\]/i.test(code)
  const plain = code.replace(/\[\$[^\]]*\]/g, '').replace(/\[(?:black|blue|cyan|green|magenta|red|white|yellow|color ?\d+)\]/gi, '').replace(/_./g, ' ').replace(/\*./g, '')
  const tokens = plain.match(/"[^"]*"?|\\.|\[[hms]+\]|AM\/PM|A\/P|y+|m+|d+|h+|s+(?:\.0+)?|[^]/gi) ?? []
  const isCertain = tokens.every(token => /^(?:"[^"]*"?|\\.|\[h+\]|AM\/PM|yy(?:yy)?|mm?|dd?|hh?|ss?|[-/.,: ])$/i.test(token) || (names && /^(?:m{3,4}|d{3,4})$/i.test(token)))
  // an order of day and month that a locale may change: the slash is its separator
  if (date === undefined || !isCertain || plain.includes('@')) return isoDate(value, from1904)
  const half = tokens.some(token => /^AM\/PM$/i.test(token))
  const two = (part: number, token: string): string => String(part).padStart(token.length, '0')
  const hours = date.getUTCHours()
  return tokens.map((token, at) => {
    if (/^["\\]/.test(token)) return token.startsWith('\\') ? token.slice(1) : token.replaceAll('"', '')
    const lower = token.toLowerCase()
    if (lower === 'am/pm') return hours < 12 ? 'AM' : 'PM'
    if (lower.startsWith('[h')) return String(Math.floor(value * 24 + 1e-9))
    if (lower === 'yyyy') return String(date.getUTCFullYear())
    if (lower === 'yy') return two(date.getUTCFullYear() % 100, 'yy')
    if (lower === 'd' || lower === 'dd') return two(date.getUTCDate(), token)
    if (lower.startsWith('d')) return date.toLocaleDateString('en-US', { weekday: lower === 'ddd' ? 'short' : 'long', timeZone: 'UTC' })
    if (lower === 'h' || lower === 'hh') return two(half ? hours % 12 || 12 : hours, token)
    if (lower === 's' || lower === 'ss') return two(date.getUTCSeconds(), token)
    if (/^m+$/.test(lower)) {
      if (lower.length > 2) return (MONTHS[date.getUTCMonth()] as string).slice(0, lower.length === 3 ? 3 : undefined)
      return two(isMinute(tokens, at) ? date.getUTCMinutes() : date.getUTCMonth() + 1, token)
    }
    return token
  }).join('').trim()
}

/** An `m` after hours or before seconds means minutes. */
function isMinute (tokens: readonly string[], at: number): boolean {
  const isPart = (token: string | undefined): boolean => token !== undefined && /^(?:y+|m+|d+|h+|s+(?:\.0+)?|\[[hms]+\])$/i.test(token)
  const previous = tokens.slice(0, at).findLast(isPart)
  const next = tokens.slice(at + 1).find(isPart)
  return /^\[?h/i.test(previous ?? '') || /^\[?s/i.test(next ?? '')
}
