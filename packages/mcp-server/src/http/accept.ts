/** The forms of a response. */
export type Form = 'json' | 'events'

const RANGES: { readonly [F in Form]: RegExp } = {
  json: /(?:^|[,\s])(?:application\/json|application\/\*|\*\/\*)(?=[\s;,]|$)/i,
  events: /(?:^|[,\s])(?:text\/event-stream|text\/\*|\*\/\*)(?=[\s;,]|$)/i
}

/** Types that a client names in order to refuse them (RFC 9110, section 12.4.2). */
const REFUSED = /[^,]*;\s*q=0(?:\.0*)?\s*(?=,|$)/gi

/** Whether a client takes a form of response, by its header `Accept`. Without the header it takes each. */
export function accepts (accept: string | undefined, form: Form): boolean {
  if (accept === undefined) return true
  // what nearly all clients send
  if (accept === 'application/json, text/event-stream') return true
  return RANGES[form].test(accept.includes('q=0') ? accept.replace(REFUSED, '') : accept)
}
