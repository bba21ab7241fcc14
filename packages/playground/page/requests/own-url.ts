/** The tests read files of the page without a browser: they have only a `location`. */
interface Browser {
  readonly document?: { querySelector (selector: string): { readonly src: string } | null }
  readonly location: { readonly href: string }
}

/** The folder of the script of the page, to which addresses are relative: the document may be at another one. */
export function pageAddress (): string {
  const { document, location } = globalThis as unknown as Browser
  const script = document?.querySelector('script[src]')?.src
  return script === undefined ? location.href : new URL('.', script).href
}

/**
 * An address of this service as a URL. Requests to it get the caller's token, so what the browser makes of the text is
 * compared, and not the text: `/\t/host`, `\\host` and `//host` are addresses of another origin.
 * @param page the address of the page, to which the address is relative
 * @throws Error for another origin, for credentials in the address, and for a path that by itself is another origin's
 */
export function ownUrl (address: string, page: string = pageAddress()): URL {
  const { origin, protocol } = new URL(page)
  const parsed = (text: string): URL | undefined => URL.canParse(text, page) ? new URL(text, page) : undefined
  const url = parsed(address)
  if (url?.protocol === protocol && url.username + url.password === '' && [url, parsed(url.pathname)].every(own => own?.origin === origin)) return url
  throw new Error(`${JSON.stringify(address.slice(0, 200))} is not an address of this service, ${origin}`)
}
