import type { Readable } from 'node:stream'

/** The data of the server-sent events that `eventText` writes: one line each. */
export async function * dataOf (body: Readable): AsyncGenerator<string, void> {
  let rest = ''
  for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length)
  }
}
