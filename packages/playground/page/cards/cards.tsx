import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { settings } from '../shared/settings.js'
import { Json, Notice } from '../shared/ui.js'
import { checkDocuments, documents, isChecking, type CheckedDocument } from './discovery.js'

export function Cards (): JSX.Element {
  const { routes } = settings.value
  useEffect(() => { if (Object.values(routes).some(address => address !== null) && documents.value.length === 0) checkDocuments() }, [routes])
  return (
    <div data-testid='cards' data-state={isChecking.value ? 'checking' : 'done'}>
      <button type='button' data-testid='cards-check' disabled={isChecking.value} onClick={() => { checkDocuments() }}>Check again</button>
      <div aria-live='polite'>{documents.value.map(document => <DocumentCard key={document.id} document={document} />)}</div>
      <p class='soft'>The page reads each document and tries its addresses on this origin. <code>polyvac doctor</code> also tries the others.</p>
    </div>
  )
}

const KINDS = { ok: 'ok', warning: 'warning', problem: 'error' } as const

function DocumentCard ({ document: { id, title, path, state, findings, value } }: { readonly document: CheckedDocument }): JSX.Element {
  return (
    <section class='card' aria-label={title} data-testid={`document-${id}`} data-state={state}>
      <h2>{title} <span class='badge'>{state}</span></h2>
      <p class='soft'>{path}{state === 'absent' ? ': the service does not have it' : ''}</p>
      {findings.map(({ kind, text }) => <Notice key={text} kind={KINDS[kind]} testId='finding'>{text}</Notice>)}
      {value !== undefined && <details><summary data-testid={`document-open-${id}`}>Document</summary><Json value={value} testId={`document-text-${id}`} label={title} /></details>}
    </section>
  )
}
