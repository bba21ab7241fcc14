/** Where cards are: 1.0 and late 0.3, then early 0.3. */
const PATHS = ['.well-known/agent-card.json', '.well-known/agent.json']

/**
 * The addresses at which the card of an agent may be: a URL that ends in `.json` is the card; below the URL and then at
 * the origin otherwise, since `new URL('/.well-known/…', url)` would drop the path of an agent behind a prefix.
 */
export function cardAddresses (url: URL): URL[] {
  if (url.pathname.endsWith('.json')) return [url]
  const below = new URL(url)
  below.search = below.hash = ''
  if (!below.pathname.endsWith('/')) below.pathname += '/'
  const hrefs = PATHS.flatMap(path => [new URL(path, below).href, new URL(`/${path}`, below).href])
  return [...new Set(hrefs)].map(href => new URL(href))
}
