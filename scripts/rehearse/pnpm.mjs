import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APPS } from './consumer.mjs'
import { root, run } from './run.mjs'

const PNPM = join(root, 'scripts', 'rehearse', 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')

/** pnpm: a package finds only what its own manifest names. */
export async function pnpm (packed, temporary, check) {
  const pnpm = async (args, cwd) => await run(process.execPath, [PNPM, ...args], { cwd, env: { npm_config_store_dir: join(temporary, 'pnpm-store') } })
  const folder = join(temporary, 'pnpm')
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  await check('pnpm adds Fastify, core and vac, and an app asks a question', async () => {
    await pnpm(['add', 'fastify', '@polyvac/core', '@polyvac/vac'], folder)
    for (const [name, text] of Object.entries(APPS)) {
      await writeFile(join(folder, name), text)
      assert.equal(JSON.parse(await run(process.execPath, [name], { cwd: folder })).answer, 'You asked: why?')
    }
  })
  await check('pnpm adds all packages: each can be imported, and the command runs', async () => {
    await pnpm(['add', ...packed.keys()], folder)
    const entries = [...packed.values()].filter(({ manifest }) => manifest.exports?.['.']?.default !== undefined).map(({ name }) => name)
    await run(process.execPath, ['--input-type=module', '--eval', entries.map(name => `await import(${JSON.stringify(name)})`).join('\n')], { cwd: folder })
    assert.equal(await pnpm(['exec', 'polyvac', '--version'], folder).then(text => text.trim()), packed.get('polyvac').version)
  })
}
