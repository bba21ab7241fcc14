import type { JSX } from 'preact'
import type { Attachment } from '../protocols/attachments.js'
import { isWeb } from '../shared/address.js'
import { bytes, Link, saveFile } from '../shared/ui.js'

/** Types of pictures that the page shows; their bytes come with the answer. */
const PICTURE = /^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/

export function Files ({ files, label }: { readonly files: readonly Attachment[], readonly label: string }): JSX.Element | null {
  if (files.length === 0) return null
  return <ul class='files' aria-label={label}>{files.map((file, index) => <FileCard key={index} file={file} />)}</ul>
}

function FileCard ({ file: { name, type, text, bytes: encoded, url } }: { readonly file: Attachment }): JSX.Element {
  const size = encoded === undefined ? text?.length : Math.floor(encoded.replace(/=+$/, '').length * 3 / 4)
  const facts = [type, size === undefined ? undefined : bytes(size)].filter(fact => fact !== undefined).join(', ')
  const content = (): BlobPart => encoded === undefined ? text! : Uint8Array.from(atob(encoded), char => char.charCodeAt(0))
  // what is not base64 has no content that could be saved
  const isKnown = encoded === undefined ? text !== undefined : encoded.length % 4 === 0 && /^[\w+/]*={0,2}$/.test(encoded) && !encoded.includes('_')
  const isPicture = isKnown && encoded !== undefined && PICTURE.test(type ?? '')
  return (
    <li data-testid='chat-file'>
      {url !== undefined && isWeb(url) ? <Link url={url}>{name}</Link> : <b>{name}</b>} <span class='soft'>{facts}</span>
      {isPicture && <img src={`data:${type};base64,${encoded}`} alt={name} data-testid='chat-picture' />}
      {text !== undefined && <details><summary>Content</summary><p class='passage' dir='auto'>{text}</p></details>}
      {isKnown && <button type='button' data-testid='chat-file-save' aria-label={`Save ${name}`} onClick={() => { saveFile(name, content()) }}>Save</button>}
    </li>
  )
}
