import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Source } from '../protocols/chat-protocol.js'
import { isWeb } from '../shared/address.js'
import { Link } from '../shared/ui.js'
import type { Answer } from './answer.js'
import { Markdown, type Cite } from './markdown.js'

/** Characters of a passage that are rendered as Markdown. */
const MAX_PASSAGE = 20_000

/** The address of a source: of the web, or of the page of the service that shows its passage. */
function addressIn ({ sources, links = {} }: Pick<Answer, 'sources' | 'links'>, index: number): string | undefined {
  const { url, source } = sources[index]?.metadata ?? {}
  return links[index] ?? [url, source].find((value): value is string => typeof value === 'string' && isWeb(value))
}

/** How the text of an answer cites: a link to the source, or a button that opens its card. */
export function useCite (answer: Answer, id: string): Cite {
  const { sources, links } = answer
  return useMemo(() => number => {
    const source = sources[number - 1]
    if (source === undefined) return undefined
    const address = addressIn({ sources, links }, number - 1)
    const title = `Source ${number}: ${nameOf(source)}`
    if (address !== undefined) return <a class='cite' href={address} target='_blank' rel='noreferrer' title={title} aria-label={title} data-testid='chat-cite'>{number}</a>
    return <button type='button' class='cite' title={title} aria-label={title} data-testid='chat-cite' onClick={() => { show(`${id}-${number}`) }}>{number}</button>
  }, [sources, links])
}

function show (id: string): void {
  const card = document.getElementById(id)
  card?.setAttribute('open', '')
  card?.scrollIntoView({ block: 'nearest' })
  card?.querySelector('summary')?.focus()
}

/** Characters of a passage that name a source without a name. */
const MAX_NAME = 60

const placeOf = ({ page_content: passage, metadata: { source, lines } }: Source): string =>
  `${String(source ?? passage.trim().split('\n', 1)[0]!.slice(0, MAX_NAME))}${lines === undefined ? '' : `:${String(lines)}`}`
const nameOf = (source: Source): string => [placeOf(source), source.metadata.heading].filter(part => part !== undefined).join(', ')

export function Sources ({ answer, id }: { readonly answer: Answer, readonly id: string }): JSX.Element | null {
  if (answer.sources.length === 0) return null
  return (
    <ul class='sources' aria-label='Sources'>
      {answer.sources.map((source, index) => <SourceCard key={index} id={`${id}-${index + 1}`} number={index + 1} source={source} address={addressIn(answer, index)} />)}
    </ul>
  )
}

interface SourceCardProps { readonly id: string, readonly number: number, readonly source: Source, readonly address: string | undefined }

function SourceCard ({ id, number, source, address }: SourceCardProps): JSX.Element {
  const { heading } = source.metadata
  const place = placeOf(source)
  // where it is narrow, the folder is cut and the name of the file stays
  const folder = /^\S*\/(?=[^/])/.exec(place)?.[0] ?? ''
  return (
    <li data-testid='chat-source'>
      <details id={id}>
        <summary>
          <span class='number'>[{number}]</span> <span class='place' title={nameOf(source)}><bdi class='path'>{folder !== '' && <span class='folder'>{folder}</span>}<span class='file'>{place.slice(folder.length)}</span></bdi>{heading !== undefined && <> <bdi class='soft'>{String(heading)}</bdi></>}</span>
        </summary>
        <div class='passage'><Markdown text={source.page_content.slice(0, MAX_PASSAGE)} /></div>
      </details>
      {address !== undefined && <Link url={address}>Open<span class='hidden'> source {number}</span></Link>}
    </li>
  )
}
