import type { AnswerPart, SourceDocument } from '@polyvac/core'
import { isRecord } from '@polyvac/core/protocol'
import { shownPassage } from '../../chat/limits.js'
import type { Citation } from '../../protocol.js'

const MAX_METADATA_CHARS = 2_000

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown', html: 'text/html', htm: 'text/html', pdf: 'application/pdf', csv: 'text/csv', json: 'application/json'
}

/** A source: with an address where it has one, otherwise as a document. */
export function sourceFrame ({ page_content: content, metadata }: SourceDocument, index: number, citation: Citation | undefined): object {
  const sourceId = String(index + 1)
  const isKept = JSON.stringify(metadata).length <= MAX_METADATA_CHARS
  const providerMetadata = { polyvac: { ...isKept && metadata, index: index + 1, page_content: shownPassage(content) } }
  if (citation !== undefined) return { type: 'source-url', sourceId, url: citation.url, title: citation.title, providerMetadata }
  const { heading, title, source } = metadata
  const filename = typeof source === 'string' ? source : undefined
  const named = [heading, title, source].find(name => typeof name === 'string' && name !== '')
  return { type: 'source-document', sourceId, mediaType: mediaTypeOf(filename), title: named ?? `Source ${sourceId}`, filename, providerMetadata }
}

function mediaTypeOf (filename = ''): string {
  const extension = /\.([a-z]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(MEDIA_TYPES, extension) ? MEDIA_TYPES[extension]! : 'text/plain'
}

/** A file, and its name: the frame of a file has no field for it. */
export function fileFrames ({ filename, media_type: type = 'application/octet-stream', url, bytes }: AnswerPart, name = filename): object[] {
  const address = bytes !== undefined ? `data:${type};base64,${bytes}` : url
  const isShown = address !== undefined && /^(?:https?|data):/i.test(address)
  return [
    ...isShown ? [{ type: 'file', url: address, mediaType: type }] : [],
    { type: 'data-artifact', data: { name, filename, mediaType: type, ...!isShown && { url: address } } }
  ]
}

/** The artifacts of an answer. */
export function artifactFrames (artifacts: unknown): object[] {
  if (!Array.isArray(artifacts)) return []
  return artifacts.filter(isRecord).flatMap(({ name, parts }) => Array.isArray(parts) ? parts.filter(isRecord).flatMap(part => partFrames(String(name), part)) : [])
}

function partFrames (name: string, part: AnswerPart): object[] {
  if (part.bytes !== undefined || part.url !== undefined) return fileFrames(part, name)
  const { text, data, filename, media_type: mediaType } = part
  return [{ type: 'data-artifact', data: { name, filename, mediaType, text, data } }]
}
