import type { SourceDocument, Vac } from '@polyvac/core'

/** The prefix of all URIs of VACs. The name of a VAC is in the path, since hosts are case-insensitive. */
const ROOT = 'polyvac://vacs/'
const DOCUMENTS = '/documents/'

export const URI_TEMPLATES = { info: `${ROOT}{vac}`, document: `${ROOT}{vac}${DOCUMENTS}{+document}` } as const

export function vacUri (vac: string): string {
  return ROOT + encodeURIComponent(vac)
}

/** @param document the `uri` of a document in the VAC's memory, such as its path in a folder */
export function documentUri (vac: string, document: string): string {
  return vacUri(vac) + DOCUMENTS + document.split('/').map(encodeURIComponent).join('/')
}

/** The VAC and the document that a URI names; undefined for any other URI. */
export function readUri (uri: string): { readonly vac: string, readonly document?: string } | undefined {
  if (!uri.startsWith(ROOT)) return undefined
  const rest = uri.slice(ROOT.length)
  const at = rest.indexOf(DOCUMENTS)
  try {
    if (at === -1) return { vac: decodeURIComponent(rest) }
    const document = rest.slice(at + DOCUMENTS.length).split('/').map(decodeURIComponent).join('/')
    return { vac: decodeURIComponent(rest.slice(0, at)), document }
  } catch {
    // invalid percent-encoding
    return undefined
  }
}

/** Links to the sources of an answer, each document once: for `resources/read`, or on the web. */
export function sourceLinks (
  { name: vac, memory }: Vac, documents: readonly SourceDocument[]
): Array<Record<string, unknown>> {
  const links = new Map<string, Record<string, unknown>>()
  for (const { metadata: { source, url } } of documents) {
    const path = typeof source === 'string' ? source : undefined
    const readable = memory?.read !== undefined && path !== undefined ? documentUri(vac, path) : undefined
    const uri = webAddress(url) ?? webAddress(source) ?? readable
    if (uri !== undefined && !links.has(uri)) links.set(uri, { type: 'resource_link', uri, name: path ?? uri })
  }
  return [...links.values()]
}

function webAddress (value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\//.test(value) ? value : undefined
}
