import assert from 'node:assert/strict'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { install } from './project.mjs'
import { run } from './run.mjs'

/**
 * Packages and megabytes that each package installs with its dependencies and, for a plugin, Fastify: measured on Linux
 * x64 with npm 11. The documentation shows them.
 */
export const SIZES = {
  '@polyvac/vac': { packages: 62, megabytes: 28.2 },
  '@polyvac/a2a': { packages: 66, megabytes: 33.9 },
  '@polyvac/mcp-server': { packages: 62, megabytes: 29.4 },
  '@polyvac/mcp-gateway': { packages: 77, megabytes: 50.3 },
  '@polyvac/documents': { packages: 71, megabytes: 34.6 },
  '@polyvac/host': { packages: 140, megabytes: 78.6 },
  polyvac: { packages: 185, megabytes: 111 }
}
/** All packages together, with Fastify. */
const ALL = { packages: 185, megabytes: 109 }
/** A package may install a tenth more, which dependencies of others take by themselves. */
const GROWTH = 1.1

const ASK_A_MODEL = `
import { openaiInterpreter } from '@polyvac/documents/model'
import { createVacs } from '@polyvac/core'
const entry = { model: 'any', openai: { base_url: 'http://127.0.0.1:9/v1' } }
const log = { debug () {}, info () {}, warn () {}, error ({ err }) { console.log((err.cause ?? err).code, (err.cause ?? err).message) } }
await createVacs({ vacs: { chat: entry }, streamInterpreter: openaiInterpreter() }).get('chat')
  .ask({ question: 'Hi', log }).catch(error => console.log((error.cause ?? error).message))
`

/** Each package by itself in a folder, a plugin next to Fastify, and all of them in one. */
export async function sizes (packed, temporary, check) {
  const { peerDependencies: { fastify } } = packed.get('@polyvac/vac').manifest
  for (const [name, size] of Object.entries(SIZES)) {
    const isProgram = packed.get(name).manifest.dependencies.fastify !== undefined || name === 'polyvac'
    await measure(name, isProgram ? { [name]: '' } : { fastify, '@polyvac/core': '', [name]: '' }, size)
  }
  await measure('all packages', { fastify, ...Object.fromEntries([...packed.keys()].map(name => [name, ''])) }, ALL)
  await check('a VAC with a model names the packages that are not installed', async () => {
    const folder = folderOf('@polyvac/documents')
    await writeFile(join(folder, 'ask.mjs'), ASK_A_MODEL)
    assert.match(await run(process.execPath, ['ask.mjs'], { cwd: folder }), /npm install ai@\d+ @ai-sdk\/openai-compatible@\d+/)
  })

  function folderOf (what) {
    return join(temporary, `size-${what.replace(/\W/g, '-')}`)
  }

  async function measure (what, dependencies, { packages: packagesBefore, megabytes: megabytesBefore }) {
    await check(`${what} has not grown by a tenth from ${packagesBefore} packages and ${megabytesBefore} MB`, async () => {
      const folder = folderOf(what)
      await mkdir(folder)
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'size', private: true, type: 'module', dependencies }))
      await install(folder)
      const packages = (await run('npm', ['ls', '--all', '--parseable'], { cwd: folder })).trim().split('\n').length - 1
      const megabytes = await diskUse(join(folder, 'node_modules')) / 1024 ** 2
      assert.ok(packages <= packagesBefore * GROWTH, `${packages} packages`)
      assert.ok(megabytes <= megabytesBefore * GROWTH, `${megabytes.toFixed(1)} MB`)
      return `${packages} packages, ${megabytes.toFixed(1)} MB`
    })
  }
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
