import { createGateway } from '@polyvac/mcp-gateway'
import { appOver } from './app.mjs'
import { fixtureSource } from './source.mjs'

/**
 * Serves the fixture through a gateway: one application has the fixture, another forwards its tools, resources, prompts
 * and tasks.
 */
const PREFIX = 'fixture__'
const upstream = await appOver([fixtureSource()], { name: 'polyvac-conformance', withTasks: true })
const url = `${await upstream.listen({ host: '127.0.0.1', port: 0 })}/mcp`
const gateway = createGateway({ servers: { fixture: { url } } })
const app = await appOver([bare(gateway.toolSource())], { name: 'polyvac-conformance-gateway', withTasks: false })
gateway.start()
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })}\n`)

/** A source whose tools and prompts have the names that the suites call, without the server's. */
function bare (source) {
  const own = ({ name }) => name.slice(PREFIX.length)
  return {
    ...source,
    list: async () => (await source.list()).map(item => ({ ...item, name: own(item) })),
    call: (name, args, context) => source.call(PREFIX + name, args, context),
    complete: (ref, argument, context) => source.complete(ref.type === 'ref/prompt' ? { ...ref, name: PREFIX + ref.name } : ref, argument, context),
    prompts: {
      list: async () => (await source.prompts.list()).map(item => ({ ...item, name: own(item) })),
      get: (name, args, context) => source.prompts.get(PREFIX + name, args, context)
    }
  }
}
