import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type Format } from 'esbuild'
import { test } from 'tap'
import { VERSION } from '@polyvac/core/plugin'
import { root } from './fixtures/pages.js'

/** An app with all plugins, which prints what it answers: also what takes a package or a file that a bundle lacks. */
const APP = `
import Fastify from 'fastify'
import { createVacs, guardProcess, loadInterpreters, readConfig } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import { a2aPlugin } from '@polyvac/a2a'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { openFolder } from '@polyvac/documents'
const main = async () => {
  const app = Fastify()
  guardProcess(app)
  const vacs = createVacs({ vacs: ['bot'], streamInterpreter: q => 'said ' + q })
  const answers = {}
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  await app.register(vacPlugin, { vacs })
  await app.register(a2aPlugin, { vacs, tasks })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
  await app.register(mcpGatewayPlugin, { servers: [] })
  const post = async (url, payload) => {
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload, headers: { accept: 'application/json, text/event-stream' } })
    answers[url] = statusCode === 200 && body.includes('said hi') || body
  }
  const message = { role: 'user', messageId: '1', parts: [{ kind: 'text', text: 'hi' }] }
  await post('/vac/bot', { user_input: 'hi' })
  await post('/openai/v1/chat/completions', { model: 'bot', messages: [{ role: 'user', content: 'hi' }] })
  await post('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } })
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  const opened = await app.inject({ method: 'POST', url: '/mcp', payload: { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }, headers: { accept: 'application/json, text/event-stream' } })
  answers.mcp = /"version":"([^"]+)"/.exec(opened.body)?.[1]
  answers.tools = (await app.inject('/mcp/tools')).statusCode
  answers.card = (await app.inject('/.well-known/agent-card.json')).json().version
  await readFiles(answers)
  console.log(JSON.stringify(answers))
  await app.close()
  await tasks.close()
}
async function readFiles (answers) {
  answers.vacs = Object.keys((await readConfig('large.yaml')).vac)
  answers.broken = await loadInterpreters('./broken.mjs', process.cwd()).catch(err => err.message)
  const folder = await openFolder({ path: 'docs', watch: false, indexFile: ':memory:' })
  const found = await folder.search({ query: 'Wie lange dauert die Garantie der Pumpe?' })
  answers.found = found.length
  await folder.close()
}
main().catch(err => { console.error(err); process.exit(1) })
`

const NO_PACKAGES = ['pg', 'pg-boss', 'better-sqlite3', '@grpc/grpc-js', 'protobufjs', '@opentelemetry/api', 'ai', '@ai-sdk/openai-compatible', 'unpdf', 'mammoth', 'postal-mime']
const BANNER = 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'

for (const [format, file] of [['esm', 'index.mjs'], ['cjs', 'index.cjs']] as Array<[Format, string]>) {
  test(`a bundle of an app answers without packages, and has its own version next to the package.json of the app: ${format}`, async t => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'polyvac-bundle-')))
    t.teardown(() => rm(folder, { recursive: true }))
    await build({
      stdin: { contents: APP, resolveDir: root },
      outfile: join(folder, file),
      format,
      bundle: true,
      platform: 'node',
      logLevel: 'error',
      // not installed where the bundle is made
      external: NO_PACKAGES,
      ...format === 'esm' && { banner: { js: BANNER } }
    })
    await writeFile(join(folder, 'large.yaml'), `# ${'-'.repeat(70_000)}\nkind: vacConfig\nvac:\n  bot: { interpreter: echo }\n`)
    await writeFile(join(folder, 'broken.mjs'), 'export const stream_interpreter = () => {}\nmissing()\n')
    // the driver of SQLite of Node.js 20 is compiled, and never a part of a bundle
    await mkdir(join(folder, 'node_modules'))
    await symlink(join(root, 'node_modules/better-sqlite3'), join(folder, 'node_modules/better-sqlite3'))
    await mkdir(join(folder, 'docs'))
    await writeFile(join(folder, 'docs/pumpe.md'), '# Garantie\n\nDie Garantie der Pumpe dauert zwei Jahre, und sie beginnt mit dem Tag des Kaufs.\n')
    const run = async () => JSON.parse((await promisify(execFile)(process.execPath, ['--no-warnings', file], { cwd: folder, env: {}, timeout: 60_000 })).stdout)
    const check = ({ broken, ...answers }: Record<string, unknown>) => {
      t.strictSame(answers, {
        '/vac/bot': true, '/openai/v1/chat/completions': true, '/a2a': true, mcp: VERSION, tools: 200, card: VERSION, vacs: ['bot'], found: 1
      })
      t.match(broken, /broken\.mjs:2:1 {2}missing is not defined/)
    }
    if (format === 'esm') check(await run())
    await writeFile(join(folder, 'package.json'), '{ "name": "an-app", "version": "7.7.7" }')
    check(await run())
  })
}
