// Runs the built command on newer releases of Node.js: SQLite is built in there, and better-sqlite3, which is compiled
// for another version, cannot be loaded. The binaries are packages of the npm registry.
// Ends with `other-nodes: N passed, N failed`. Needs a build (scripts/ready.mjs) before it.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Report } from './packed/report.mjs'
import { npm, root, run, start } from './packed/run.mjs'
import { ask, post, stop, urlOf } from './packed/service.mjs'

const VERSIONS = ['22', '24']
/** The packages exist for each platform; other platforms run the checks themselves. */
const PLATFORM = 'linux-x64'

const report = new Report()
const cli = join(root, 'apps', 'polyvac', 'dist', 'cli.js')

if (`${process.platform}-${process.arch}` === PLATFORM) {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), 'polyvac-nodes-')))
  try {
    for (const version of VERSIONS) await report.part(`Node.js ${version}`, check => onNode(version, join(temporary, version), check))
  } finally {
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
  }
  process.stdout.write(`\n${report.lines().join('\n')}\n`)
} else {
  process.stdout.write(`skipped: Node.js ${VERSIONS.join(' and ')} run on ${PLATFORM} only, and this is ${process.platform}-${process.arch}\n`)
}
process.stdout.write(`other-nodes: ${report.passed} passed, ${report.failed} failed\n`)
process.exitCode = report.failed === 0 ? 0 : 1

async function onNode (version, folder, check) {
  const docs = join(folder, 'docs')
  await mkdir(docs, { recursive: true })
  await writeFile(join(docs, 'tea.md'), '# Tea\n\n## How long does tea brew?\n\nGreen tea brews for two minutes, black tea for four.\n')

  const node = join(folder, 'package', 'bin', 'node')
  await check('its binary is installed', async () => {
    const [{ filename }] = Object.values(JSON.parse(await npm(['pack', `node-${PLATFORM}@${version}`, '--json', '--pack-destination', folder], folder)))
    await run('tar', ['-xzf', join(folder, filename), '-C', folder, 'package/bin/node'])
    const printed = (await run(node, ['--version'])).trim()
    assert.ok(printed.startsWith(`v${version}.`), printed)
    return printed
  })
  await check('node:sqlite is the driver', async () => {
    const module = pathToFileURL(join(root, 'packages', 'sqlite', 'dist', 'index.js')).href
    const program = `const { openDatabase } = await import(${JSON.stringify(module)}); console.log((await openDatabase(':memory:')).driver)`
    assert.equal((await run(node, ['--input-type=module', '--eval', program])).trim(), 'node:sqlite')
  })
  await check('polyvac ask answers from documents', async () => {
    assert.match(await run(node, [cli, 'ask', docs, 'How long does green tea brew?']), /two minutes/)
  })
  await check('a question and a task over HTTP are answered, SIGTERM ends it', async () => {
    const service = start(node, [cli, 'start', docs, '--port', '0'])
    try {
      const { answer } = await ask(`${await urlOf(service)}/vac/docs`, 'How long does green tea brew?')
      assert.match(answer, /two minutes/)
      const { result } = await post(`${await urlOf(service)}/a2a/tasks/send`, {
        jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'How long does green tea brew?' } }
      })
      assert.equal(result.state, 'completed')
      assert.match(result.artifacts[0].content.answer, /two minutes/)
      return `end after ${await stop(service)} ms`
    } finally {
      service.kill()
    }
  })
}
