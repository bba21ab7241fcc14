import { createVacs } from '@polyvac/core'
import { defineTools, mcpServerPlugin } from '@polyvac/mcp-server'
import { vacPlugin } from '@polyvac/vac'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { instant, waiting } from './interpreters.mjs'

const MOST_STREAMS = 20_000

/** Polyvac with a place for each stream of the largest size. */
export async function streamsApp () {
  const app = Fastify()
  await app.register(vacPlugin, {
    vacs: createVacs({ vacs: ['instant', 'waiting'], parts: { instant: { streamInterpreter: instant }, waiting: { streamInterpreter: waiting } }, maxConcurrent: MOST_STREAMS })
  })
  return app
}

/** An MCP server with so many tools, all alike. */
export async function toolsApp (count, sessions = false) {
  const app = Fastify()
  const tools = Array.from({ length: count }, (_, i) => ({
    name: i === 0 ? 'echo' : `echo_${i}`,
    description: 'Repeats the message.',
    inputSchema: Type.Object({ message: Type.String() }),
    handler: ({ message }) => `Echo: ${message}`
  }))
  await app.register(mcpServerPlugin, { sources: [defineTools(tools)], sessions })
  return app
}
