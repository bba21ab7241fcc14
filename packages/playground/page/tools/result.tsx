import type { JSX } from 'preact'
import { isWeb } from '../shared/address.js'
import { isObject } from '../shared/fields.js'
import { bytes, Json, Link, Notice } from '../shared/ui.js'
import type { ToolResult } from './client.js'

/** Types of pictures that the page shows; SVG is left out, since it may have scripts. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/

/** A result with its content by type. */
export function Result ({ result }: { readonly result: ToolResult }): JSX.Element {
  const { content = [], structuredContent, isError = false } = result
  return (
    <section aria-label='Result' aria-live='polite' data-testid='tool-result' data-state={isError ? 'error' : 'done'}>
      {isError && <Notice kind='error' testId='tool-error'>The tool reported an error.</Notice>}
      {content.map((block, i) => <Content key={i} block={block} />)}
      {structuredContent !== undefined && <Json value={structuredContent} testId='tool-structured' label='Structured content' />}
      <details><summary>Whole result</summary><Json value={result} testId='tool-raw' label='Whole result' /></details>
    </section>
  )
}

/** A block of a tool's result, of a prompt or of a resource. */
export function Content ({ block }: { readonly block: unknown }): JSX.Element {
  const { text, data, blob, mimeType, uri, name, resource, type } = isObject(block) ? block : {}
  if (isObject(resource)) return <Content block={resource} />
  const encoded = data ?? blob
  if (typeof encoded === 'string') {
    const size = bytes(Math.floor(encoded.length * 3 / 4))
    return PICTURES.test(String(mimeType))
      ? <figure><img data-testid='content-image' alt={`Picture of ${size}`} src={`data:${String(mimeType)};base64,${encoded}`} /><figcaption>{String(mimeType)}, {size}</figcaption></figure>
      : <p data-testid='content-blob'>{String(mimeType ?? 'binary')}, {size}</p>
  }
  if (typeof text === 'string') {
    let shown: unknown = text
    if (/^\s*[[{]/.test(text)) try { shown = JSON.parse(text) } catch { /* a text that only begins like JSON */ }
    return <Json value={shown} testId='content-text' label='Text' />
  }
  if (type === 'resource_link' && typeof uri === 'string') {
    return <p data-testid='content-link'>{isWeb(uri) ? <Link url={uri}>{String(name ?? uri)}</Link> : <code>{uri}</code>}</p>
  }
  return <Json value={block} testId='content-json' label='Content' />
}
