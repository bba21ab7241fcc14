// A folder's memory: 50,000 passages of real Markdown, indexed and searched with scores.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { figure, toMb } from './parts/figure.mjs'
import { median, quantile } from './parts/statistics.mjs'

const PASSAGES = 50_000
const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))
const INDEX_DOCUMENTS = fileURLToPath(new URL('parts/index-documents.mjs', import.meta.url))

export const title = 'Documents, 50,000 passages of Markdown'

export async function run () {
  const child = fork(INDEX_DOCUMENTS, [], { execArgv: ['--expose-gc'] })
  // listed here: neither the time nor the memory of walking node_modules belongs to a folder of documents
  const files = readdirSync(MODULES, { recursive: true }).filter(file => /\.md$/i.test(file)).sort()
  child.send({ folder: MODULES, files, passages: PASSAGES })
  const [message] = await Promise.all([Promise.race([once(child, 'message'), once(child, 'exit')]), once(child, 'exit')])
  if (typeof message[0] !== 'object') throw new Error(`indexing ended with exit code ${message[0]}`)
  const [{ passages, indexMs, searchMs, rssAdded, rss }] = message
  const [p50, p99] = [median(searchMs), quantile(searchMs, 0.99)]
  return [
    figure('time to read, cut and index', indexMs / 1000, 's', { atMost: 3 }, { passages, rss }),
    figure('a search with scores, p50', p50, 'ms', { atMost: 8 }, { p50, p99 }),
    figure('memory added', toMb(rssAdded), 'MB', { atMost: 60 }, { rss })
  ]
}
