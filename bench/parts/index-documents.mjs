// The process of bench/documents.mjs: it only indexes and searches, so that its memory is that of the index.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { splitDocument, PassageIndex } from '@polyvac/documents'

const [{ folder: SOURCE, files: FILES, passages: WANTED }] = await once(process, 'message')

/** The queries in turn: one rare word, common words, a question, words of no document. */
const QUERIES = [
  'backpressure', 'how do I install the package', 'options of the server', 'which license applies to this project',
  'type definitions for the response object', 'changelog of version 2.0.0 bug fixes', 'stream error handling in promises',
  'configure eslint rules', 'what does the default export return', 'zyxwvut qponmlk', 'http request timeout', 'cookie secure flag'
]

const folder = await mkdtemp(join(tmpdir(), 'polyvac-bench-'))
try {
  const rssBefore = await rssAfterGc()
  const index = await PassageIndex.open(join(folder, 'index.db'))
  const start = performance.now()
  const passages = await index.upsert(documents())
  const indexMs = performance.now() - start
  const searchMs = []
  for (let round = 0; round < 25; round++) {
    for (const query of QUERIES) {
      const began = performance.now()
      const hits = index.search({ query, limit: 10, threshold: 0 })
      searchMs.push(performance.now() - began)
      if (hits.some(({ score }) => !(score >= 0 && score <= 1))) throw new Error(`a hit for ${query} has no score`)
    }
  }
  const rss = await rssAfterGc()
  await index.close()
  process.send({ passages, indexMs, searchMs, rssAdded: rss - rssBefore, rss })
} finally {
  await rm(folder, { recursive: true })
  process.disconnect()
}

/** The Markdown files of packages, repeated under other names until there are enough passages. */
function * documents () {
  let passages = 0
  for (let copy = 0; passages < WANTED; copy++) {
    for (const file of FILES) {
      if (passages >= WANTED) return
      const cut = splitDocument(file, readText(join(SOURCE, file)))
      passages += cut.length
      yield { source: `${copy}/${file}`, passages: cut }
    }
    if (passages === 0) throw new Error('node_modules holds no Markdown')
  }
}

function readText (path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // a folder named like a document, or a broken link
    return ''
  }
}

async function rssAfterGc () {
  for (let i = 0; i < 2; i++) {
    globalThis.gc()
    await delay(100)
  }
  return process.memoryUsage.rss()
}
