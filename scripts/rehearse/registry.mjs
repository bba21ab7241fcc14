import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newerNode } from './node-versions.mjs'
import { npm, root, run, start } from './run.mjs'
import { freePort } from './service.mjs'

/** Longest time in ms for the registry to listen: the machine may be busy. */
const START_MS = 120_000

/**
 * Starts a registry on loopback and publishes tarballs into it. What is not ours comes through the registry that npm is
 * configured for. From then on the npm, npx and pnpm of this process use it.
 */
export async function startRegistry (temporary, packed) {
  const folder = join(temporary, 'registry')
  await mkdir(folder)
  const uplink = (await run('npm', ['config', 'get', 'registry'])).trim()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const ours = [...packed.keys()].map(name => `  '${name}': { access: $all, publish: $all }`)
  await writeFile(join(folder, 'config.yaml'), `storage: ./storage
web: { enable: false }
auth: { htpasswd: { file: ./htpasswd } }
uplinks:
  npm: { url: '${uplink}', maxage: 1d, timeout: 120s, max_fails: 1000 }
packages:
${ours.join('\n')}
  '**': { access: $all, proxy: npm }
log: { type: stdout, format: pretty, level: warn }
`)
  const program = join(root, 'scripts', 'rehearse', 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const registry = start(newerNode(), [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`], { cwd: folder })
  for (const end = Date.now() + START_MS; !await isUp(url);) {
    if (Date.now() > end) throw new Error(`the registry did not start within ${START_MS} ms\n${registry.output}`)
    await delay(100)
  }
  process.env.npm_config_registry = url
  // anyone may publish, and npm sends no request without a token
  const token = `--//127.0.0.1:${port}/:_authToken=anyone`
  for (const { file } of packed.values()) await npm(['publish', file, token, '--provenance=false'], folder)
  return registry
}

async function isUp (url) {
  return await fetch(`${url}-/ping`).then(response => response.ok, () => false)
}
