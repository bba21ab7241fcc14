// `node scripts/open-responses.mjs <folder>`: the compliance suite of Open Responses, of which the folder is a clone
// with its packages (zod), against an agent here that takes tools and images. It runs the offered cases with bun, which
// npx installs, and names the others. Ends with the code of the suite; without a folder it runs nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'

const BUN = 'bun@1.4.5'
const SUITE = 'bin/compliance-test.ts'
const OFFERED = [
  'basic-response', 'streaming-response', 'system-prompt', 'tool-calling', 'image-input', 'multi-turn', 'assistant-phase', 'response-output-phase-schema'
]
const NOT_OFFERED = 'compact-* (no compaction), websocket-* (no WebSocket)'

const [given] = process.argv.slice(2)
if (given === undefined) {
  process.stdout.write('open-responses: skipped; name the folder of a clone of openresponses/openresponses\n')
  process.exit()
}
const folder = resolve(given)
if (!existsSync(join(folder, SUITE))) {
  process.stderr.write(`open-responses: ${folder} has no ${SUITE}; name a clone of openresponses/openresponses\n`)
  process.exit(2)
}

const agent = async function * (question, _vac, _history, { request }) {
  const [tool] = request?.tools ?? []
  if (tool !== undefined) return { answer: '', tool_calls: [{ id: 'call_1', name: tool.name, input: { location: 'San Francisco' } }] }
  yield { progress: 0.5, message: 'Reads' }
  yield `You asked: ${question}`
}
agent.takes = ['tools', 'images']

const app = Fastify()
await app.register(vacPlugin, { vacs: createVacs({ vacs: ['docs'], streamInterpreter: agent }), protocols: ['responses'] })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`open-responses: not offered: ${NOT_OFFERED}\n`)
const suite = spawn('npx', ['--yes', BUN, 'run', SUITE, '--base-url', `${url}/openai/v1`, '--api-key', 'none', '--model', 'docs', '--filter', OFFERED.join(',')], { cwd: folder, stdio: 'inherit' })
const [code] = await once(suite, 'exit')
await app.close()
process.exitCode = code ?? 1
