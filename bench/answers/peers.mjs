// Other search engines that run inside a Node.js process, on the same passages: each returns texts, best first.
import { create, insertMultiple, search as searchOrama } from '@orama/orama'
import lunr from 'lunr'
import MiniSearch from 'minisearch'
import { openDatabase } from '@polyvac/sqlite'

const STOPS = new Set(`a an and any are as at be but by can could did do does for from had has have how i if in into is it its
me my no not of on or our should so such than that the their then there these they this to was we were what when where which
who whom whose why will with would you your much many long often far`.split(/\s+/))

export const PEERS = {
  async FTS5 (passages) {
    const database = await openDatabase(':memory:', {})
    database.exec("CREATE VIRTUAL TABLE t USING fts5 (heading, content, tokenize='porter unicode61 remove_diacritics 2')")
    const insert = database.prepare('INSERT INTO t (heading, content) VALUES (?, ?)')
    for (const { heading, source, content } of passages) insert.run(`${heading} ${source}`, content)
    const find = database.prepare('SELECT content FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?')
    return (query, limit) => {
      const all = query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu)
      const words = all.filter(word => !STOPS.has(word))
      return find.column((words.length > 0 ? words : all).map(word => `"${word}"`).join(' OR '), limit)
    }
  },
  MiniSearch (passages) {
    const engine = new MiniSearch({ fields: ['heading', 'content'] })
    engine.addAll(passages.map(({ heading, source, content }, id) => ({ id, heading: `${heading} ${source}`, content })))
    return (query, limit) => engine.search(query).slice(0, limit).map(({ id }) => passages[id].content)
  },
  async Orama (passages) {
    const engine = create({ schema: { heading: 'string', content: 'string' } })
    await insertMultiple(engine, passages.map(({ heading, source, content }) => ({ heading: `${heading} ${source}`, content })))
    return async (term, limit) => (await searchOrama(engine, { term, limit })).hits.map(({ document }) => document.content)
  },
  Lunr (passages) {
    const engine = lunr(function () {
      this.field('heading')
      this.field('content')
      for (const [id, { heading, source, content }] of passages.entries()) this.add({ id: String(id), heading: `${heading} ${source}`, content })
    })
    return (query, limit) => engine.search(query.replace(/[^\p{L}\p{N}\p{M}\s]/gu, ' ')).slice(0, limit).map(({ ref }) => passages[Number(ref)].content)
  }
}
