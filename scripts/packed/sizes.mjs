import assert from 'node:assert/strict'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { install } from './project.mjs'
import { run } from './run.mjs'

/**
 * The most packages and megabytes that each package installs with its dependencies and Fastify, and what was measured
 * on Linux x64 with npm 11; the documentation shows both.
 */
export const BUDGETS = {
  '@polyvac/vac': { packages: 65, megabytes: 30, measured: '62, 27.8 MB' },
  '@polyvac/a2a': { packages: 70, megabytes: 35, measured: '65, 33.4 MB' },
  '@polyvac/mcp-server': { packages: 65, megabytes: 30, measured: '62, 28.9 MB' },
  '@polyvac/mcp-gateway': { packages: 100, megabytes: 55, measured: '77, 49.5 MB' },
  '@polyvac/documents': { packages: 75, megabytes: 35, measured: '71, 34.9 MB' }
}

const ASK_A_MODEL = `
import { openaiInterpreter } from '@polyvac/documents/model'
import { createVacs } from '@polyvac/core'
const entry = { model: 'any', openai: { base_url: 'http://127.0.0.1:9/v1' } }
const log = { debug () {}, info () {}, warn () {}, error ({ err }) { console.log((err.cause ?? err).code, (err.cause ?? err).message) } }
await createVacs({ vacs: { chat: entry }, streamInterpreter: openaiInterpreter() }).get('chat')
  .ask({ question: 'Hi', log }).catch(error => console.log((error.cause ?? error).message))
`

/** Each plugin next to Fastify, by itself in a folder. */
export async function sizes (packed, temporary, check) {
  const { peerDependencies: { fastify } } = packed.get('@polyvac/vac').manifest
  for (const [name, budget] of Object.entries(BUDGETS)) {
    const folder = join(temporary, `size-${name.split('/')[1]}`)
    await mkdir(folder)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'size', private: true, type: 'module', dependencies: { fastify, '@polyvac/core': '', [name]: '' } }))
    await check(`Fastify and ${name} are at most ${budget.packages} packages and ${budget.megabytes} MB`, async () => {
      await install(folder, packed)
      const packages = (await run('npm', ['ls', '--all', '--parseable'], { cwd: folder })).trim().split('\n').length - 1
      const megabytes = await diskUse(join(folder, 'node_modules')) / 1024 ** 2
      assert.ok(packages <= budget.packages, `${packages} packages`)
      assert.ok(megabytes <= budget.megabytes, `${megabytes.toFixed(1)} MB`)
      return `${packages} packages, ${megabytes.toFixed(1)} MB`
    })
  }
  await check('a VAC with a model names the packages that are not installed', async () => {
    const folder = join(temporary, 'size-documents')
    await writeFile(join(folder, 'ask.mjs'), ASK_A_MODEL)
    assert.match(await run(process.execPath, ['ask.mjs'], { cwd: folder }), /npm install ai @ai-sdk\/openai-compatible/)
  })
}

/** Bytes on disk below a folder, as `du` counts them. */
async function diskUse (folder) {
  let sum = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const { blocks, size } = await stat(join(entry.parentPath, entry.name))
    sum += blocks === undefined ? size : blocks * 512
  }
  return sum
}
