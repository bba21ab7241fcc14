/** What stands before the text of a document: `---` for YAML, `+++` for TOML, or an object of JSON. */
export interface FrontMatter {
  readonly title?: Field | undefined
  readonly description?: Field | undefined
  /** The other scalars and lists, such as `due: 2026-03-31`. */
  readonly fields: readonly Field[]
  /** The index of the first line of the text. */
  readonly end: number
}

interface Field { readonly name: string, readonly value: string, readonly line: number }

/** Front matter that does not end within this many lines is text. */
const MAX_LINES = 200
/** A longer value, in characters, is cut. */
const MAX_VALUE = 1_000

/** Keys that are for the tools of a site. */
const FOR_TOOLS = new Set(`id slug layout template sidebar sidebar_position sidebar_label sidebar_class_name sidebar_custom_props weight order
nav_order parent grand_parent permalink url draft published publish toc outline editlink pagination_next pagination_prev pagination_label
hide_title hide_table_of_contents toc_min_heading_level toc_max_heading_level custom_edit_url displayed_sidebar image cover thumbnail hero
cssclass cssclasses kind type uid navigation prev next head math mermaid comments jupyter`.split(/\s+/))

const YAML_KEY = /^([\p{L}_][\p{L}\p{M}\p{N}_ ./-]{0,60}?)\s*:(?:\s+(.*))?$/u
const TOML_KEY = /^([A-Za-z_][\w.-]{0,60})\s*=\s*(.+)$/

/** The front matter of a document; undefined where it has none, or what looks like it cannot be read. */
export function readFrontMatter (lines: readonly string[]): FrontMatter | undefined {
  const first = lines[0]?.trimEnd()
  if (first === '{') return readJson(lines)
  const close = first === '---' ? /^(?:---|\.\.\.)\s*$/ : first === '+++' ? /^\+\+\+\s*$/ : undefined
  if (close === undefined) return undefined
  const end = lines.slice(1, MAX_LINES).findIndex(line => close.test(line))
  if (end === -1) return undefined
  const inside = lines.slice(1, end + 1)
  const fields = first === '---' ? readYaml(inside) : readToml(inside)
  return fields && toFrontMatter(fields, end + 2)
}

function toFrontMatter (all: readonly Field[], end: number): FrontMatter {
  const find = (...names: string[]): Field | undefined => all.find(({ name }) => names.includes(name.toLowerCase()))
  const title = find('title')
  const description = find('description', 'summary', 'excerpt')
  const fields = all.filter(field => field !== title && field !== description && !FOR_TOOLS.has(field.name.toLowerCase()) && !/^(?:true|false)$/.test(field.value))
  return { title, description, fields, end }
}

/** The scalars and simple lists of YAML; undefined where a line is neither. What is nested deeper is left out. */
function readYaml (lines: readonly string[]): Field[] | undefined {
  const fields: Field[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] as string).trimEnd()
    if (line === '' || /^\s*#/.test(line)) continue
    const [, name, raw = ''] = YAML_KEY.exec(line) ?? []
    if (name === undefined) return undefined
    const number = at + 2
    const below: string[] = []
    while (at + 1 < lines.length && /^(?:\s+\S|\s*- |\s*-$|\s*$)/.test(lines[at + 1] as string)) below.push(lines[++at] as string)
    const value = valueOf(raw.trim(), below)
    if (value !== '') fields.push({ name, value, line: number })
  }
  return fields
}

function valueOf (raw: string, below: readonly string[]): string {
  if (/^[|>][+-]?\d*$/.test(raw)) return cut(below.map(line => line.trim()).join(' ').trim())
  if (raw !== '' && below.every(line => line.trim() === '')) return cut(scalarsOf(raw).join(', '))
  // a plain scalar that goes on, or a list in brackets of several lines
  if (raw !== '') return cut(scalarsOf([raw, ...below.map(line => line.trim())].join(' ').trim()).join(', '))
  const items = below.filter(line => line.trim() !== '')
  // of a list of maps, such as authors, the names
  if (!/^\s*- /.test(items[0] ?? '')) return ''
  return cut(items.filter(line => /^\s*- /.test(line)).map(line => line.replace(/^\s*- (?:(?:name|title|label):\s+)?/, '')).filter(item => !YAML_KEY.test(item.trim())).flatMap(scalarsOf).join(', '))
}

/** The members of a list in brackets, or one scalar; without quotes and comments. */
function scalarsOf (raw: string): string[] {
  const text = raw.trim()
  if (/^\{.*\}$/.test(text)) return []
  const list = /^\[(.*)\]\s*(?:#.*)?$/.exec(text)?.[1]
  if (list !== undefined) return (list.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^,]+/g) ?? []).map(item => unquoted(item.trim())).filter(item => item !== '')
  return [unquoted(text)].filter(item => item !== '')
}

function unquoted (text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(text)?.[1]?.replace(/\\(.)/g, '$1') ?? /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(text)?.[1]?.replaceAll("''", "'")
  if (quoted !== undefined) return quoted.trim()
  const plain = text.replace(/\s+#.*$/, '').trim()
  return /^(?:~|null|''|"")$/i.test(plain) ? '' : plain
}

function cut (value: string): string {
  return value.slice(0, MAX_VALUE)
}

function readToml (lines: readonly string[]): Field[] | undefined {
  const fields: Field[] = []
  let isNested = false
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] as string).trim()
    if (line === '' || line.startsWith('#')) continue
    if (/^\[.*\]$/.test(line)) {
      isNested = true
      continue
    }
    const [, name, start = ''] = TOML_KEY.exec(line) ?? []
    if (name === undefined) return undefined
    const number = at + 2
    let raw = start
    while (/^\[[^\]]*$/.test(raw) && at + 1 < lines.length) raw += ` ${(lines[++at] as string).trim()}`
    const value = cut(scalarsOf(raw.replace(/^"""|"""$/g, '"')).join(', '))
    if (!isNested && value !== '') fields.push({ name, value, line: number })
  }
  return fields
}

function readJson (lines: readonly string[]): FrontMatter | undefined {
  const end = lines.slice(0, MAX_LINES).findIndex(line => line.trimEnd() === '}')
  if (end === -1) return undefined
  let object: object
  try {
    object = JSON.parse(lines.slice(0, end + 1).join('\n')) as object
  } catch {
    return undefined
  }
  const isScalar = (one: unknown): boolean => typeof one === 'string' || typeof one === 'number'
  const fields = Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
    const text = (Array.isArray(value) ? value : [value]).filter(isScalar).map(String).join(', ').replace(/\s+/g, ' ').trim()
    return text === '' ? [] : [{ name, value: cut(text), line: 1 + Math.max(0, lines.findIndex(line => line.includes(`"${name}"`))) }]
  })
  return toFrontMatter(fields, end + 1)
}
