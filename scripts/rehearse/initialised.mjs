import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { install, withInstallScript } from './project.mjs'
import { root, run, start } from './run.mjs'
import { ask, freePort, stop, urlOf } from './service.mjs'

/** The files of `polyvac init`, from the registry and from a clone, install unchanged, start, answer and stop. */
export async function initialised (packed, temporary, check) {
  const folder = join(temporary, 'service')
  const tool = join(temporary, 'tool')
  await mkdir(tool)
  await writeFile(join(tool, 'package.json'), JSON.stringify({ name: 'tool', private: true, dependencies: { polyvac: '' } }))

  await check('the command installs', () => install(tool))
  await check('only the optional SQLite driver has an install script', async () =>
    assert.deepEqual((await withInstallScript(tool)).filter(name => name !== 'better-sqlite3'), []))
  await check('npx polyvac is the command', async () => {
    assert.equal(await run('npx', ['polyvac', '--version'], { cwd: tool }), `${packed.get('polyvac').version}\n`)
  })
  await check('polyvac init fills an empty folder', async () => {
    await run(process.execPath, [cli(tool), 'init', folder])
    for (const name of ['vac_config.yaml', 'interpreter.mjs', 'package.json', 'README.md', 'Dockerfile', '.dockerignore', join('docs', 'welcome.md')]) {
      assert.ok(existsSync(join(folder, name)), `${name} is missing`)
    }
  })
  await check('its npm install works unchanged', () => install(folder))
  await check('editors find the schema that vac_config.yaml names', async () => {
    const [, schema] = /\$schema=(\S+)/.exec(await readFile(join(folder, 'vac_config.yaml'), 'utf8'))
    JSON.parse(await readFile(join(folder, schema), 'utf8'))
  })
  await check('npm start answers over HTTP and ends on SIGTERM', async () => {
    const service = start('npm', ['start'], { cwd: folder, env: { PORT: '0' } })
    return await asked(service, { throughNpm: true })
  })
  await check('the Dockerfile\'s command needs authentication; with it, it answers, is healthy and ends on SIGTERM', async () => {
    const dockerfile = await readFile(join(folder, 'Dockerfile'), 'utf8')
    const [health, command] = [/HEALTHCHECK[^[]*(\[.*\])/, /^CMD (\[.*\])/m].map(form => JSON.parse(form.exec(dockerfile)[1]))
    const env = { PORT: String(await freePort()) }
    await assert.rejects(run(command[0], command.slice(1), { cwd: folder, env }), /set service\.auth/)
    const config = join(folder, 'vac_config.yaml')
    const before = await readFile(config, 'utf8')
    const printed = await run(process.execPath, [cli(folder), 'token', 'me', 'vac:*'])
    const [, token] = /(pv_\S+)/.exec(printed)
    await writeFile(config, before.replace('service:\n', printed.slice(printed.indexOf('service:'))))
    try {
      const service = start(command[0], command.slice(1), { cwd: folder, env })
      return await asked(service, { token, also: () => run(health[0], health.slice(1), { env }) })
    } finally {
      await writeFile(config, before)
    }
  })
  await check('polyvac check finds no problem, also with the second VAC switched on', async () => {
    const config = join(folder, 'vac_config.yaml')
    await run(process.execPath, [cli(folder), 'check'], { cwd: folder })
    const text = await readFile(config, 'utf8')
    await writeFile(config, text.replace(/ {2}# assistant:[^]*/, lines => lines.replace(/^ {2}# /gm, '  ')))
    await run(process.execPath, [cli(folder), 'check'], { cwd: folder })
    assert.match(await run(process.execPath, [cli(folder), 'ask', 'assistant', 'Is it on?'], { cwd: folder }), /Is it on\?/)
  })

  const agent = join(temporary, 'agent')
  await check('polyvac init --template model of a clone installs unchanged, and lists its tools', async () => {
    await run(process.execPath, [join(root, 'apps', 'polyvac', 'dist', 'cli.js'), 'init', '--template', 'model', agent])
    await install(agent)
    await run(process.execPath, [cli(agent), 'check'], { cwd: agent })
    assert.match(await run('npm', ['run', 'tools'], { cwd: agent }), /files read_text_file/)
  })
}

/** Asks a starting service a question about its first document, then stops it. */
async function asked (service, { also = async () => {}, throughNpm = false, token }) {
  const begun = performance.now()
  try {
    const url = await urlOf(service)
    const { answer, source_documents: sources } = await ask(`${url}/vac/docs`, 'How do I start?', token)
    const firstAnswer = performance.now() - begun
    assert.match(answer, /npm (?:start|install)/)
    assert.match(sources[0].metadata.source, /welcome\.md/)
    await also()
    const took = await stop(service, { throughNpm })
    await assert.rejects(fetch(url), 'a service still answers at the address')
    return `first answer after ${(firstAnswer / 1000).toFixed(1)} s, end after ${took} ms`
  } finally {
    service.kill()
  }
}

function cli (folder) {
  return join(folder, 'node_modules', 'polyvac', 'dist', 'cli.js')
}
