import { test } from 'tap'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import fs, { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig, readConfig, type ConfigError } from '../src/index.js'

const KIND = 'kind: vacConfig\n'
const lines = (count: number, line: (i: number) => string): string => Array.from({ length: count }, (_, i) => line(i)).join('\n')

function errorOf (text: string): ConfigError {
  try {
    parseConfig(text, '/app/vac_config.yaml', { env: {} })
  } catch (err) {
    return err as ConfigError
  }
  throw new Error('the file was accepted')
}

test('a file that would take the parser minutes is refused before it is parsed', async t => {
  const hostile: Record<string, [text: string, problem: RegExp]> = {
    'opened brackets': ['['.repeat(30_000), /nested more than 64 levels deep/],
    'opened braces': ['a: ' + '{a: '.repeat(30_000), /nested more than 64 levels deep/],
    'brackets over lines': ['[\n'.repeat(30_000), /nested more than 64 levels deep/],
    'lists in one line': ['- '.repeat(30_000), /deeper than 200 columns/],
    'maps that go deeper with each line': [lines(1_000, i => ' '.repeat(i) + 'a:'), /deeper than 200 columns/],
    'complex keys': ['? '.repeat(30_000), /deeper than 200 columns/],
    'a million items': ['a: [' + '1,'.repeat(1_000_000) + ']', /more than 300000 tokens/],
    'an MCP client\'s file': ['{"mcpServers":' + '['.repeat(30_000), /nested more than 64 levels deep/]
  }
  for (const [name, [text, problem]] of Object.entries(hostile)) t.match(errorOf(text).message, problem, name)
})

test('aliases that expand to millions of values are refused', async t => {
  const laughs = `a0: &a0 [x]\n${lines(20, i => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)}\n`
  t.match(errorOf(KIND + laughs).message, /alias/)
  const wide = `${KIND}vac:\n  v:\n    a: &a [${'x,'.repeat(5_000)}]\n    b: [${'*a,'.repeat(90)}]\n`
  t.match(errorOf(wide).message, /aliases of the file expand to too many values/)
})

test('of very many problems the first twenty are reported', async t => {
  const { problems, message, hasMore } = errorOf(`${KIND}${lines(20_000, i => `key${i}: 1`)}\nvac: { a: {} }\n`)
  t.equal(problems.length, 20)
  t.equal(hasMore, true)
  t.match(message, /there are more problems; these are the first ones$/)
  const one = errorOf(`kind: ${'x'.repeat(1_000_000)}\nvac: { a: {} }\n`)
  t.ok(one.message.length < 2_000, 'a long line is cut')
  const { warnings } = parseConfig(`${KIND}vac:\n  a:\n${lines(10_000, i => `    key${i}: 1`)}\n`, '/app/vac_config.yaml')
  t.equal(warnings.length, 20)
  t.match(errorOf(`${KIND}vac: { a: {} }\nvac: { b: {} }\n`).problems, [{ line: 3, column: 1, message: 'Map keys must be unique' }])
})

test('a file is parsed in a thread with the same result, while the event loop goes on', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'vac_config.yaml')
  await writeFile(file, `${KIND}vac:\n${lines(500, i => `  vac${i}: { display_name: "\${NAME}", model: m }`)}\n`)
  let turns = 0
  let isDone = false
  const turn = (): void => { turns++; if (!isDone) setImmediate(turn) }
  turn()
  const config = await readConfig(file, { env: { NAME: 'n' }, inThread: true }).finally(() => { isDone = true })
  t.ok(turns > 100, 'the event loop was not blocked')
  t.same(config, await readConfig(file, { env: { NAME: 'n' } }))
  t.match(config, { file, vac: { vac499: { display_name: 'n' } }, variables: ['NAME'] })
  await writeFile(file, 'kind: vacConfig\nvac: 7\n')
  await t.rejects(readConfig(file, { inThread: true }), { code: 'CONFIG_INVALID', problems: [{ line: 2, column: 6 }] })
})

test('what is not a file, or too large a one, is refused and never waited for', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  await t.rejects(readConfig(fifo), { code: 'CONFIG_INVALID', message: /not a configuration file: it is a device, a pipe or a socket/ })
  await t.rejects(readConfig('/dev/zero'), { code: 'CONFIG_INVALID', message: /it is a device/ })
  await t.rejects(readConfig(folder), { code: 'CONFIG_INVALID', message: /it is a folder/ })
  const sparse = join(folder, 'sparse')
  await writeFile(sparse, '')
  await truncate(sparse, 2 ** 40)
  await t.rejects(readConfig(sparse), { code: 'CONFIG_INVALID', message: /larger than 4 MiB/ })
})

test('a pipe that takes the place of a file after its check hangs no read', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'vac_config.yaml')
  await writeFile(file, `${KIND}vac: { a: {} }\n`)
  const { stat } = fs
  t.teardown(() => {
    fs.stat = stat
    syncBuiltinESMExports()
    // a read that hangs would keep this process
    closeSync(openSync(file, constants.O_RDWR | constants.O_NONBLOCK))
  })
  fs.stat = (async (path: string) => {
    const checked = await stat(path)
    await rm(file)
    execFileSync('mkfifo', [file])
    return checked
  }) as typeof stat
  syncBuiltinESMExports()
  await t.rejects(readConfig(file), { code: 'CONFIG_INVALID', message: /it is a device, a pipe or a socket/ })
})
