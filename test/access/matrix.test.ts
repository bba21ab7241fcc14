import { createHost, readConfig } from '@polyvac/host'
import { LEGACY_REVISIONS } from '@polyvac/mcp-protocol'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { METHODS as V03 } from '../../packages/a2a/src/dialects/v0_3/names.js'
import { METHODS as V1 } from '../../packages/a2a/src/dialects/v1/names.js'
import { METHODS as DESCRIPTION } from '../../packages/a2a/src/dialects/description/methods.js'
import { service as grpc } from '../../packages/a2a/test/fixtures/grpc-caller.js'
import { legacyMethods } from '../../packages/mcp-server/src/methods/legacy.js'
import { modernMethods } from '../../packages/mcp-server/src/methods/modern.js'
import { startFar } from './far.js'
import { checkRow, countsOf, inOrder, ROWS, type Cell } from './matrix.js'
import { collectRoutes, derivedRows, keysOf } from './routes.js'
import type { Row } from './row.js'
import { Wire } from './send.js'
import { Service } from './service.js'
import { World } from './world.js'

/** Protocols with their methods, from the tables of the packages. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  'A2A 1.0': Object.keys(V1),
  'A2A 0.3': Object.keys(V03),
  'A2A description': Object.keys(DESCRIPTION),
  gRPC: Object.keys(grpc.methods),
  'MCP 2026-07-28': [...modernMethods.keys()],
  ...Object.fromEntries([...LEGACY_REVISIONS.map(revision => `MCP ${revision}`), 'MCP HTTP+SSE'].map(protocol => [protocol, ['initialize', ...legacyMethods.keys()]]))
}

test('each route and method has rows, and each caller of each row sees what it may', async t => {
  const far = await startFar()
  t.teardown(() => far.close())
  const service = await Service.prepare(far.url)
  t.teardown(() => service.close())
  let app!: FastifyInstance
  const routes = await collectRoutes(async () => {
    app = await createHost({ config: await readConfig(service.configFile), server: { logger: { level: 'silent' } } })
    await app.ready()
  })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await app.polyvac.gateway?.settled()
  const wire = new Wire(url, service.grpcPort)
  const authorizationOf = service.authorizationOf.bind(service)
  const world = new World(wire, authorizationOf)
  t.teardown(() => { world.close(); wire.close() })

  await t.test('the rows are those of the routes and methods', t => {
    t.strictSame([...new Set(ROWS.map(({ route }) => route).filter(route => route !== 'gRPC'))].sort(), keysOf(routes))
    const methods = (protocol: string): string[] => [...new Set(ROWS.filter(row => row.protocol === protocol && row.method !== undefined).map(({ method }) => method!))].sort()
    for (const [protocol, names] of Object.entries(METHODS)) t.strictSame(methods(protocol), [...new Set(names)].sort(), protocol)
    t.end()
  })

  const removed = async (): Promise<number> => (await wire.send({ method: 'GET', path: '/vac' }, authorizationOf({ name: 'a removed token' }))).status
  t.equal(await removed(), 200, 'the token that is removed')
  await service.write(false)
  await app.polyvac.reload(await readConfig(service.configFile))
  t.equal(await removed(), 401)

  const cells: Cell[] = []
  const byProtocol = new Map<string, Row[]>()
  const rows = [...ROWS, ...derivedRows(ROWS, routes)]
  for (const row of inOrder(rows)) {
    const group = row.kind === 'list' ? 'lists' : row.protocol
    byProtocol.set(group, [...byProtocol.get(group) ?? [], row])
  }
  for (const [protocol, rows] of byProtocol) {
    await t.test(protocol, async t => {
      // an assertion for each of the thousands of cells would cost more than the requests
      const problems: Cell[] = []
      for (const row of rows) {
        for await (const cell of checkRow(row, { wire, world, authorizationOf })) {
          cells.push(cell)
          if (cell.problem !== undefined) problems.push(cell)
        }
      }
      t.strictSame(problems, [])
    })
  }
  t.ok(cells.length > rows.length, 'rows have several cells')
  t.comment(`${cells.length} cells of ${rows.length} rows: ${countsOf(cells)}`)
})
