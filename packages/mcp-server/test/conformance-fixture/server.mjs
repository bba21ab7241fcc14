import { appOver } from './app.mjs'
import { fixtureSource } from './source.mjs'

/** Serves the fixture on a free port, or on $PORT, and prints its address. */
const app = await appOver([fixtureSource()], { name: 'polyvac-conformance', withTasks: true })
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })}\n`)
