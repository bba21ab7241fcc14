import { createHost, readConfig } from '@polyvac/host'
import { test } from 'tap'
import { testDatabase } from '../fixtures/postgres.js'
import { THINGS } from './callers.js'
import { startFar } from './far.js'
import { checkRow, countsOf, inOrder, ROWS, type Cell } from './matrix.js'
import { Wire } from './send.js'
import { Service } from './service.js'
import { World } from './world.js'

/** The newest of each kind: the others have the same operations and sessions. */
const PROTOCOLS = ['A2A 1.0', 'A2A description', 'MCP 2026-07-28', 'MCP 2025-11-25', 'MCP HTTP+SSE']

test('what alice made at one replica is the same to each caller at the other', async t => {
  const far = await startFar()
  t.teardown(() => far.close())
  const service = await Service.prepare(far.url, { a2a: undefined, mcp_servers: undefined, tasks: { store: 'postgres', url: await testDatabase(t) } })
  t.teardown(() => service.close())
  await service.write(false)
  const start = async (): Promise<Wire> => {
    const app = await createHost({ config: await readConfig(service.configFile), server: { logger: { level: 'silent' } } })
    t.teardown(() => app.close())
    const wire = new Wire(await app.listen({ host: '127.0.0.1', port: 0 }), service.grpcPort)
    t.teardown(() => { wire.close() })
    return wire
  }
  const [one, wire] = [await start(), await start()]
  const authorizationOf = service.authorizationOf.bind(service)
  const world = new World(one, authorizationOf, wire.url)
  t.teardown(() => { world.close() })
  const isRemote = (thing: string): boolean => /^(?:far|parked$)/.test(thing)
  const rows = ROWS.filter(({ protocol, thing, route }) => PROTOCOLS.includes(protocol) && 'isOwned' in THINGS[thing] && !isRemote(thing) && !/:vac|POST \/$/.test(route))
  const cells: Cell[] = []
  for (const row of inOrder(rows)) {
    for await (const cell of checkRow(row, { wire, world, authorizationOf }, ['input-required'])) {
      cells.push(cell)
      if (cell.problem === undefined) t.pass(cell.name)
      else t.fail(cell.name, { problem: cell.problem })
    }
  }
  t.comment(`${cells.length} cells of ${rows.length} rows: ${countsOf(cells)}`)
})
