import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import { counted, endless, instant, ticking, waiting } from './interpreters.mjs'

/** Polyvac as an application registers it. */
export async function polyvacApp () {
  const app = Fastify()
  const parts = Object.entries({ instant, counted, endless, waiting, ticking })
  await app.register(vacPlugin, {
    protocols: ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui'],
    vacs: createVacs({
      vacs: parts.map(([name]) => name),
      parts: Object.fromEntries(parts.map(([name, streamInterpreter]) => [name, { streamInterpreter }]))
    })
  })
  return app
}
