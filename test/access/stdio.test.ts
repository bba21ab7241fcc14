import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { until } from '../fixtures/until.js'
import { OTHER_VAC, SERVER, TOOL, VAC } from './callers.js'
import { startFar } from './far.js'
import { rpc } from './row.js'
import { ABLE, modern } from './rows/mcp.js'
import { LEGACY, LEGACY_TASKS, MODERN, type Made } from './rows/mcp-methods.js'
import { Service } from './service.js'

type Json = Record<string, any>

const cli = fileURLToPath(new URL('../../apps/polyvac/dist/cli.js', import.meta.url))
/**
 * Standard input has one caller, the process that started the command: it has the rights of the person who runs it, so
 * no principal exists, no scope bounds it, and there is no other owner whose tasks or sessions it could name.
 */
const NAMES: Readonly<Record<string, readonly [string, string]>> = { vac: [VAC, 'nobody'], anyVac: [VAC, 'nobody'], tool: [TOOL, 'exho'] }
/** What has no name that the rows know: tasks are made by calls, and the server with tasks has no prompts. */
const LEFT_OUT = ['toolTask', 'farTask', 'parkedVac']

for (const [era, methods] of [['2025-11-25', [...LEGACY, ...LEGACY_TASKS]], ['2026-07-28', MODERN]] as ReadonlyArray<[string, readonly Made[]]>) {
  test(`over standard input, the local caller sees everything in ${era}`, async t => {
    const far = await startFar()
    t.teardown(() => far.close())
    // the configuration has tokens, which are for callers over HTTP
    const service = await Service.prepare(far.url, { a2a: undefined })
    t.teardown(() => service.close())
    const child = spawn(process.execPath, [cli, 'mcp', service.folder], { stdio: ['pipe', 'pipe', 'ignore'] })
    t.teardown(() => { child.kill('SIGKILL') })
    const answers = new Map<unknown, Json>()
    createInterface({ input: child.stdout }).on('line', line => {
      const message = JSON.parse(line) as Json
      // a subscription has no answer until it ends, but an acknowledgement
      const listened = message.method === 'notifications/subscriptions/acknowledged' ? message.params._meta['io.modelcontextprotocol/subscriptionId'] : undefined
      answers.set(message.method === undefined ? message.id : listened, message)
    })
    let id = 0
    const send = async (method: string, params: Json): Promise<Json> => {
      const message = (era === '2026-07-28' ? modern(method, params, method === 'tools/call' ? { elicitation: {} } : ABLE).body : rpc(method, params)) as Json
      message.id = ++id
      child.stdin.write(`${JSON.stringify(message)}\n`)
      const { id: _id, ...answer } = await until(() => answers.get(message.id), `${method} is answered`)
      return answer
    }
    if (era !== '2026-07-28') await send('initialize', { protocolVersion: era, capabilities: ABLE, clientInfo: { name: 'test', version: '1' } })
    await until(async () => JSON.stringify(await send('tools/list', {})).includes(`${SERVER}__${TOOL}`), 'the external servers have started')
    for (const { method, about = '', kind, thing = 'nothing', names = NAMES[thing], mark, isSilent, params } of methods) {
      if (LEFT_OUT.includes(thing)) continue
      const name = `${method} ${about}`.trim()
      const seen = await send(method, params(names?.[0] ?? '') as Json)
      if (kind === 'list') t.ok(JSON.stringify(seen).replaceAll('\\"', '"').includes(mark ?? VAC), `${name} shows ${mark ?? VAC}`)
      else if (names === undefined || isSilent === true) t.equal(seen.error, undefined, name)
      else t.notSame(seen, JSON.parse(JSON.stringify(await send(method, params(names[1]) as Json)).replaceAll(names[1], names[0])), `${name} differs from what does not exist`)
    }
    t.match(await send('tools/call', { name: 'get_vac_info', arguments: { vector_name: OTHER_VAC } }), { result: { structuredContent: { name: OTHER_VAC } } })
  })
}
