/** A request to copy; `url` is absolute. */
export interface CopiedRequest { readonly method: string, readonly url: string, readonly headers: Readonly<Record<string, string>>, readonly body?: unknown }

/** A text as one word of a POSIX shell. */
export function quoteForShell (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

export function asCurl ({ method, url, headers, body }: CopiedRequest): string {
  const words = ['curl', '-sN', ...method === 'GET' ? [] : ['-X', method], quoteForShell(url)]
  for (const [name, value] of Object.entries(headers)) words.push('-H', quoteForShell(`${name}: ${value}`))
  if (body !== undefined) words.push('--data-raw', quoteForShell(JSON.stringify(body)))
  return words.join(' ')
}

export function asFetch ({ method, url, headers, body }: CopiedRequest): string {
  const init = { method, headers, ...body === undefined ? {} : { body: JSON.stringify(body) } }
  return `await fetch(${JSON.stringify(url)}, ${JSON.stringify(init, null, 2)})`
}
