import type { Features } from '../features.js'
import { isRecord } from '../is-record.js'
import { annotations, fitFields, icons, number, record, shapeOf, text, type Fields, type Shape } from './values.js'

/** A content block of a tool's result or of a prompt. */
export type Block = Fields

const COMMON = { annotations, _meta: record }
const BLOCK = shapeOf(COMMON)
const LINK = shapeOf({ ...COMMON, title: text, description: text, mimeType: text, size: number, icons })
const CONTENTS = shapeOf({ mimeType: text, _meta: record })

/** The first characters of media in base64, and what they are. */
const SIGNATURES = [
  ['iVBORw', 'image/png'], ['/9j/', 'image/jpeg'], ['R0lGOD', 'image/gif'], ['UklGR', 'image/webp'], ['SUQz', 'audio/mpeg'], ['T2dnUw', 'audio/ogg']
] as const
const FALLBACK = { image: 'image/png', audio: 'audio/wav' } as const

/** The content blocks of a result in the shape of a revision: the same list where all fit. */
export function fitBlocks (content: unknown, features: Features): readonly Block[] {
  if (content === undefined || content === null) return []
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  let fitted: Block[] | undefined
  for (let i = 0; i < blocks.length; i++) {
    const block = fitBlock(blocks[i], features)
    if (fitted === undefined && (block === undefined || block !== blocks[i])) fitted = blocks.slice(0, i) as Block[]
    if (block !== undefined) fitted?.push(block)
  }
  return fitted ?? blocks as readonly Block[]
}

/** A content block in the shape of a revision. What the revision lacks, and what clients refuse, becomes text. */
export function fitBlock (block: unknown, features: Features): Block | undefined {
  if (block === undefined || block === null) return undefined
  if (!isRecord(block)) return textBlock(asText(block))
  switch (block.type) {
    case 'text': return typeof block.text === 'string' ? fitFields(block, BLOCK) : { ...fitFields(block, BLOCK), text: asText(block.text) }
    case 'image': return fitMedia(block, 'image')
    case 'audio': return features.audio ? fitMedia(block, 'audio') : textBlock(`(audio, ${mediaType(block, 'audio')})`)
    case 'resource_link': return fitLink(block, features)
    case 'resource': return fitEmbedded(block)
    // a block without a type that has a text is one, as are blocks of earlier drafts and of other protocols
    default: return typeof block.text === 'string' ? textBlock(block.text) : textBlock(asText(block))
  }
}

/** The contents of a resource, with the URI that the caller asked for where there is none. */
export function fitContents (contents: unknown, uri: string): readonly Fields[] {
  if (contents === undefined || contents === null) return []
  const list: readonly unknown[] = Array.isArray(contents) ? contents : [contents]
  const fitted = list.map(one => {
    if (one === undefined || one === null) return undefined
    if (!isRecord(one)) return { uri, text: asText(one) }
    return fitResource(typeof one.uri === 'string' ? one : { ...one, uri })
  })
  return fitted.every((one, i) => one === list[i] && one !== undefined) ? list as readonly Fields[] : fitted.filter(one => one !== undefined)
}

export function textBlock (text: string): Block {
  return { type: 'text', text }
}

function fitMedia (block: Block, type: 'image' | 'audio'): Block {
  const data = base64(block.data)
  if (data === undefined) return textBlock(`(${type}, ${mediaType(block, type)})`)
  const fitted = fitFields(block, BLOCK)
  return data === block.data && typeof block.mimeType === 'string' ? fitted : { ...fitted, data, mimeType: mediaType({ ...block, data }, type) }
}

function mediaType ({ mimeType, data }: Block, type: 'image' | 'audio'): string {
  if (typeof mimeType === 'string') return mimeType
  const known = SIGNATURES.find(([head, media]) => media.startsWith(type) && typeof data === 'string' && data.startsWith(head))
  return known?.[1] ?? FALLBACK[type]
}

function fitLink (block: Block, { resourceLinks }: Features): Block {
  const { uri, name, title } = block
  if (typeof uri !== 'string') return textBlock(asText(block))
  if (!resourceLinks) return textBlock(uri)
  const fitted = fitFields(block, LINK as Shape)
  return typeof name === 'string' ? fitted : { ...fitted, name: typeof title === 'string' ? title : uri }
}

function fitEmbedded (block: Block): Block {
  const { resource } = block
  if (!isRecord(resource)) return textBlock(asText(block))
  // a resource that no URI names is its text
  if (typeof resource.uri !== 'string') return textBlock(typeof resource.text === 'string' ? resource.text : asText(block))
  const contents = fitResource(resource)
  const fitted = fitFields(block, BLOCK)
  return contents === resource ? fitted : { ...fitted, resource: contents }
}

/** Contents with a text, or with bytes in base64; bytes that are not base64 are a text. */
function fitResource (contents: Fields): Fields {
  const fitted = fitFields(contents, CONTENTS)
  const { text, blob, ...rest } = fitted
  if (typeof text === 'string') return blob === undefined ? fitted : { ...rest, text }
  const bytes = base64(blob)
  if (bytes !== undefined) return bytes === blob && text === undefined ? fitted : { ...rest, blob: bytes }
  return { ...rest, text: asText(text ?? blob) }
}

const BASE64 = /^[A-Za-z0-9+/]*$/
const DATA_URL = /^data:[^,]{0,200};base64,/

/** Bytes in base64, also of data URLs, with line breaks, in the alphabet of URLs, or without padding. */
function base64 (value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (isBase64(value)) return value
  const plain = value.replace(DATA_URL, '').replace(/\s+|=+$/g, '').replaceAll('-', '+').replaceAll('_', '/')
  return BASE64.test(plain) && plain.length % 4 !== 1 ? plain.padEnd(Math.ceil(plain.length / 4) * 4, '=') : undefined
}

/** By its decoded length: the decoder skips other characters, and is eight times as quick as an expression. */
function isBase64 (value: string): boolean {
  if (value.length % 4 !== 0 || value.includes('-') || value.includes('_')) return false
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0
  return Buffer.from(value, 'base64').length === value.length / 4 * 3 - padding
}

/** A value as text for a model, without the bytes of media. */
function asText (value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return JSON.stringify(value, (key, one: unknown) => (key === 'data' || key === 'blob') && typeof one === 'string' ? undefined : one)
}
