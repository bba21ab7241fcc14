import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { conversations } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'
import '../../../test/fixtures/timeout.mjs'

test('conversations are listed, read, renamed, deleted, exported and imported over their routes', async t => {
  const head = { id: 'a/b', title: 'Tea', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', turn_count: 0 }
  const requests: unknown[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => { text += piece }).on('end', () => {
      const { method, url = '', headers } = request
      requests.push([method, url, headers.authorization, ...text === '' ? [] : [JSON.parse(text)]])
      const reply = (status: number, body?: object): void => { response.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body)) }
      if (url.includes('/conversations/gone')) reply(404, { error: { code: 'CONVERSATION_NOT_FOUND', message: 'there is no conversation', requestId: 'r' } })
      else if (method === 'DELETE') reply(204)
      else if (method === 'PATCH') reply(200, { ...head, ...JSON.parse(text) })
      else if (url.endsWith('/export')) reply(200, { version: 1, turns: [] })
      else if (method === 'POST') reply(201, head)
      else if (/conversations\/./.test(url)) reply(200, { ...head, turns: [] })
      else reply(200, { conversations: [head], next_cursor: 'c2' })
    })
  }).listen(0, '127.0.0.1')
  await until(() => server.listening, 'the server listens')
  t.teardown(() => server.close())
  const kept = conversations({ base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/app/`, vac: 'my docs', headers: { authorization: 'Bearer t' } })
  t.strictSame(await kept.list(), { conversations: [head], next_cursor: 'c2' })
  await kept.list({ limit: 5, cursor: 'c&2' })
  t.strictSame(await kept.get('a/b'), { ...head, turns: [] })
  t.equal(await kept.rename('a/b', 'Coffee'), undefined)
  t.equal(await kept.delete('a/b'), undefined)
  t.strictSame(await kept.import(await kept.export('a/b')), head)
  const root = '/app/vac/my%20docs/conversations'
  const token = 'Bearer t'
  t.strictSame(requests, [
    ['GET', root, token], ['GET', `${root}?limit=5&cursor=c%262`, token], ['GET', `${root}/a%2Fb`, token], ['PATCH', `${root}/a%2Fb`, token, { title: 'Coffee' }],
    ['DELETE', `${root}/a%2Fb`, token], ['GET', `${root}/a%2Fb/export`, token], ['POST', root, token, { version: 1, turns: [] }]
  ])
  for (const ask of [() => kept.get('gone'), () => kept.rename('gone', 'x'), () => kept.delete('gone'), () => kept.export('gone')]) {
    await t.rejects(async () => { await ask() }, { name: 'ServiceError', code: 'CONVERSATION_NOT_FOUND', status: 404, requestId: 'r' })
  }
})
