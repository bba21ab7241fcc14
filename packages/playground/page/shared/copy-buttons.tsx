import type { JSX } from 'preact'
import { asCurl, asFetch, type CopiedRequest } from './copy-as.js'
import { CopyButton } from './ui.js'

/** Copies a request as curl and as fetch; the token stays in the page. */
export function CopyButtons ({ request }: { readonly request: CopiedRequest }): JSX.Element {
  return (
    <>
      <CopyButton text={() => asCurl(request)} label='Copy as curl' testId='copy-curl' />
      <CopyButton text={() => asFetch(request)} label='Copy as fetch' testId='copy-fetch' />
      {request.headers.authorization !== undefined && <small class='soft' data-testid='copy-token'>The copy has the variable TOKEN, not your token.</small>}
    </>
  )
}
