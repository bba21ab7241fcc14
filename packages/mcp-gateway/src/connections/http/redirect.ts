import type { Exchange } from './exchange.js'

/** Where a redirect leads, if it stays at the server of the configuration: another one must not get its headers. */
export function redirectOf ({ status, headers: { location }, request: { method } }: Exchange, from: URL): URL | undefined {
  // 301, 302 and 303 turn a POST into a GET
  const keepsMethod = status === 307 || status === 308 || (method === 'GET' && status >= 301 && status <= 303)
  if (!keepsMethod || typeof location !== 'string' || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  const isSecured = from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === '' && from.hostname === to.hostname
  const hasOtherUser = (to.username !== '' || to.password !== '') && (to.username !== from.username || to.password !== from.password)
  return (to.origin === from.origin || isSecured) && !hasOtherUser ? to : undefined
}
