/** A response with the method of its request. */
interface Exchange {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly request: { readonly method: string }
}

/** Where a redirect leads, if it stays at the server of the configuration: another one must not get its headers. */
export function redirectOf ({ status, headers, request: { method } }: Exchange, from: URL): URL | undefined {
  const { location } = headers
  // 301, 302 and 303 turn a POST into a GET
  const keepsMethod = status === 307 || status === 308 || (method === 'GET' && status >= 301 && status <= 303)
  if (!keepsMethod || typeof location !== 'string' || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  // to https, with the default port of both
  const isSecured = to.protocol === 'https:' && from.href.startsWith('http:') && from.host === to.hostname && to.port === ''
  const userOf = ({ username, password }: URL): string => `${username}:${password}`
  return (to.origin === from.origin || isSecured) && [':', userOf(from)].includes(userOf(to)) ? to : undefined
}
