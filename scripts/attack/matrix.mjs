// The matrix of access of test/access, against a service that `polyvac start` started; of the states of tasks, one.
import { pathToFileURL } from 'node:url'
import { compiledTest, compileTests } from '../compile-tests.mjs'
import { root, startHost, until } from './host.mjs'

const load = async name => await import(pathToFileURL(`${root}/${compiledTest(`test/access/${name}.ts`)}`).href)

/** Resolves to `{ tried, problems, note }`: a problem is the name of a cell and what the caller saw. */
export async function checkMatrix () {
  await compileTests()
  const [{ startFar }, { Service }, { Wire }, { World }, { checkRow, countsOf, inOrder, ROWS }] = await Promise.all(['far', 'service', 'send', 'world', 'matrix'].map(load))
  const far = await startFar()
  const service = await Service.prepare(far.url)
  const host = await startHost({ cwd: service.folder })
  const authorizationOf = caller => service.authorizationOf(caller)
  const wire = new Wire(host.url, service.grpcPort)
  const world = new World(wire, authorizationOf)
  try {
    const status = async name => (await wire.send({ method: 'GET', path: '/mcp/tools' }, authorizationOf({ name }))).status
    if (await status('a removed token') !== 200) throw new Error('the token that is removed is not known before')
    await service.write(false)
    if (await until(async () => await status('a removed token') === 401) === undefined) throw new Error('the removed token stays valid')
    const hasTools = async () => (await wire.send({ method: 'GET', path: '/mcp/tools' }, authorizationOf({ name: 'alice' }))).text.match(/"server":"(?:far|files)"/g)?.length > 10
    await until(hasTools)
    const cells = []
    for (const row of inOrder(ROWS)) for await (const cell of checkRow(row, { wire, world, authorizationOf }, ['input-required'])) cells.push(cell)
    const problems = cells.filter(({ problem }) => problem !== undefined).map(({ name, problem }) => `${name}: ${problem.slice(0, 300)}`)
    return { tried: cells.length, problems, note: `${cells.length} cells of ${ROWS.length} rows (${countsOf(cells)})` }
  } finally {
    world.close()
    wire.close()
    await host.stop()
    await far.close()
    await service.close()
  }
}
