import type { SourceDocument, Vac } from '@polyvac/core'

/** Where the resources of VACs are. The name of a VAC stands in the path, since case does not count in a host. */
const ROOT = 'polyvac://vacs/'
const DOCUMENTS = '/documents/'

export const URI_TEMPLATES = { info: `${ROOT}{vac}`, document: `${ROOT}{vac}${DOCUMENTS}{+document}` } as const

export function vacUri (vac: string): string {
  return ROOT + encodeURIComponent(vac)
}

/** @param document its `uri` in the VAC's memory, such as its path in a folder */
export function documentUri (vac: string, document: string): string {
  return vacUri(vac) + DOCUMENTS + document.split('/').map(encodeURIComponent).join('/')
}

/** What a URI stands for; undefined where it is none of ours. */
export function readUri (uri: string): { readonly vac: string, readonly document?: string } | undefined {
  if (!uri.startsWith(ROOT)) return undefined
  const rest = uri.slice(ROOT.length)
  const at = rest.indexOf(DOCUMENTS)
  try {
    if (at === -1) return { vac: decodeURIComponent(rest) }
    return { vac: decodeURIComponent(rest.slice(0, at)), document: rest.slice(at + DOCUMENTS.length).split('/').map(decodeURIComponent).join('/') }
  } catch {
    // not properly percent-encoded, so not made here
    return undefined
  }
}

/** Links to what an answer rests on, each document once: readable through `resources/read`, or on the web. */
export function sourceLinks ({ name: vac, memory }: Vac, documents: readonly SourceDocument[]): Array<Record<string, unknown>> {
  const links = new Map<string, Record<string, unknown>>()
  for (const { metadata: { source, url } } of documents) {
    const uri = webAddress(url) ?? webAddress(source) ?? (memory?.read !== undefined && typeof source === 'string' ? documentUri(vac, source) : undefined)
    if (uri !== undefined && !links.has(uri)) links.set(uri, { type: 'resource_link', uri, name: typeof source === 'string' ? source : uri })
  }
  return [...links.values()]
}

function webAddress (value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\//.test(value) ? value : undefined
}
