import { distance } from 'fastest-levenshtein'

/** Longer names are not compared: the cost is quadratic, and longer names are not typing errors. */
const MAX_COMPARED_CHARS = 100

/** Most candidates that are compared: a server may list 10,000 tools. */
const MAX_COMPARED = 1_000

/** Longer names are cut in messages. */
const MAX_QUOTED_CHARS = 200

/** Candidates named where none is near. */
const MAX_LISTED = 10

const VAC_NAME = /^(?!\.{1,2}$)[\p{L}\p{N}_.-]{1,64}$/u

/** `/ag-ui/<vac>` asks a VAC; these are routes in the same place: `/ag-ui/info`, `/ag-ui/agent/<vac>/run`. */
const ROUTE_WORDS: readonly string[] = ['agent', 'info']

/** Why a text cannot be the name of a VAC, and the remedy; undefined where it can. */
export function vacNameProblem (name: string): { readonly reason: string, readonly remedy: string } | undefined {
  if (ROUTE_WORDS.includes(name)) {
    return { reason: `the path /ag-ui/${name} belongs to routes of AG-UI`, remedy: `use another name, such as "my-${name}"` }
  }
  if (VAC_NAME.test(name) && name.length <= 64) return undefined
  return { reason: 'names are parts of paths', remedy: 'use 1 to 64 letters, digits, "_", "-" or "."' }
}

/** The candidate that was most likely meant: at most max(2, a third of its length) edits away. */
export function nearest (name: string, candidates: readonly string[]): string | undefined {
  if (name.length > MAX_COMPARED_CHARS) return undefined
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates.slice(0, MAX_COMPARED)) {
    if (candidate.length > MAX_COMPARED_CHARS) continue
    const edits = distance(name.toLowerCase(), candidate.toLowerCase())
    if (edits < bestDistance && edits <= Math.max(2, Math.floor(candidate.length / 3)) && edits < candidate.length) {
      best = candidate
      bestDistance = edits
    }
  }
  return best
}

/** A name for a message: quoted, and cut when it is long. */
export function quoteName (name: string): string {
  return JSON.stringify(name.length > MAX_QUOTED_CHARS ? `${name.slice(0, MAX_QUOTED_CHARS)}…` : name)
}

/**
 * The remedy for an unknown name: `did you mean "a"?`, or some of the candidates.
 * @param label precedes the list of candidates, such as `its tools`
 */
export function suggestion (name: string, candidates: readonly string[], label: string): string {
  const near = nearest(name, candidates)
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`
  const more = candidates.length - MAX_LISTED
  return `${label}: ${candidates.slice(0, MAX_LISTED).join(', ') || 'none'}${more > 0 ? ` and ${more} more` : ''}`
}

/** The remedy for an unknown name of a VAC. @param listedAt the request that lists the names */
export function vacRemedy (name: string, names: readonly string[], listedAt = 'GET /vac'): string {
  if (names.length === 0) return 'none is configured'
  const near = nearest(name, names)
  return near === undefined ? `${listedAt} lists those that are` : `did you mean ${JSON.stringify(near)}?`
}
