/** A request to copy; `url` is absolute. A copy names a variable in place of a token. */
export interface CopiedRequest { readonly method: string, readonly url: string, readonly headers: Readonly<Record<string, string>>, readonly body?: unknown }

/** A text as one word of a POSIX shell. */
export function quoteForShell (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

export function asCurl ({ method, url, headers, body }: CopiedRequest): string {
  const words = ['curl', '-sN', ...method === 'GET' ? [] : ['-X', method], quoteForShell(url)]
  for (const [name, value] of Object.entries(headers)) words.push('-H', name === 'authorization' ? '"authorization: Bearer $TOKEN"' : quoteForShell(`${name}: ${value}`))
  if (body !== undefined) words.push('--data-raw', quoteForShell(JSON.stringify(body)))
  return words.join(' ')
}

export function asFetch ({ method, url, headers, body }: CopiedRequest): string {
  const { authorization, ...others } = headers
  const fields = Object.entries(others).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  // eslint-disable-next-line no-template-curly-in-string -- the variable of the person who runs the copy
  if (authorization !== undefined) fields.push('"authorization": `Bearer ${TOKEN}`')
  const init = [`"method": ${JSON.stringify(method)}`, `"headers": { ${fields.join(', ')} }`, ...body === undefined ? [] : [`"body": ${JSON.stringify(JSON.stringify(body))}`]]
  return `await fetch(${JSON.stringify(url)}, {\n  ${init.join(',\n  ')}\n})`
}
