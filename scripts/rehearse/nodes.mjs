import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { APPS } from './consumer.mjs'
import { NODES, onNode } from './node-versions.mjs'
import { install } from './project.mjs'
import { root, run, start } from './run.mjs'
import { ask, post, stop, urlOf } from './service.mjs'

const QUESTION = 'How long does green tea brew?'

/**
 * `npx polyvac` in a folder without anything installed, and the app of a reader, on newer versions of Node.js. SQLite
 * is built in there, and better-sqlite3, which is compiled for another version, cannot be loaded.
 */
export async function nodes (packed, temporary, check) {
  if (Object.keys(NODES).length === 0) process.stdout.write('skipped: the newer versions of Node.js are installed on linux-x64 only\n')
  for (const version of Object.keys(NODES)) {
    const folder = join(temporary, `node-${version}`)
    const docs = join(folder, 'docs')
    await mkdir(docs, { recursive: true })
    await writeFile(join(docs, 'tea.md'), '# Tea\n\n## How long does tea brew?\n\nGreen tea brews for two minutes, black tea for four.\n')
    // npx keeps what it installed, under the name of the package. The driver, which is not used here, would be compiled
    // for minutes where its binary cannot be downloaded.
    const env = { ...onNode(version), npm_config_cache: join(folder, 'cache'), npm_config_ignore_scripts: 'true' }

    await check(`Node.js ${version}: npx polyvac ask answers from documents`, async () => {
      assert.match(await run('npx', ['--yes', 'polyvac', 'ask', './docs', QUESTION], { cwd: folder, env }), /two minutes/)
      return (await run('node', ['--version'], { env })).trim()
    })
    await check(`Node.js ${version}: node:sqlite is the driver`, async () => {
      const module = pathToFileURL(join(root, 'packages', 'sqlite', 'dist', 'index.js')).href
      const program = `const { openDatabase } = await import(${JSON.stringify(module)}); console.log((await openDatabase(':memory:')).driver)`
      assert.equal((await run('node', ['--input-type=module', '--eval', program], { env })).trim(), 'node:sqlite')
    })
    await check(`Node.js ${version}: npx polyvac ./docs answers a question and a task, and SIGTERM ends it`, async () => {
      const service = start('npx', ['--yes', 'polyvac', './docs'], { cwd: folder, env: { ...env, PORT: '0' } })
      try {
        const url = await urlOf(service)
        assert.match((await ask(`${url}/vac/docs`, QUESTION)).answer, /two minutes/)
        const { result } = await post(`${url}/a2a/tasks/send`, {
          jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: QUESTION } }
        })
        assert.equal(result.state, 'completed')
        assert.match(result.artifacts[0].content.answer, /two minutes/)
        return `end after ${await stop(service, { throughNpm: true })} ms`
      } finally {
        service.kill()
      }
    })
    await check(`Node.js ${version}: an app asks a question, as ESM and as CommonJS`, async () => {
      const app = join(folder, 'app')
      await mkdir(app)
      await writeFile(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module', dependencies: { fastify: '5', '@polyvac/core': '', '@polyvac/vac': '' } }))
      await install(app)
      for (const [name, text] of Object.entries(APPS)) {
        await writeFile(join(app, name), text)
        assert.equal(JSON.parse(await run('node', [name], { cwd: app, env })).answer, 'You asked: why?')
      }
    })
  }
}
