// Configuration files that explode or hang, for `polyvac check`, for the start, and for a running host.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jsonOf, send } from './client.mjs'
import { cli, configuration, folderOf, probe, start, startHost, until } from './host.mjs'

/** Reading a file takes no longer, on a busy machine. */
const MAX_CHECK_MS = 120_000
const WATCH_MS = 1_200
const MAX_TEXT = 64 * 1024
const good = JSON.stringify(configuration({ tasks: { store: 'memory' } }))
const laughs = ['a: &a [x, x, x, x, x, x, x, x, x]', ...'bcdefghij'.split('').map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(', ')}]`), 'kind: vacConfig', 'vac: { demo: *j }'].join('\n')
const merges = `kind: vacConfig\nx0: &x0 { a: 1 }\n${Array.from({ length: 2_000 }, (_, i) => `x${i + 1}: &x${i + 1} { <<: [*x${i}, *x${i}], k${i}: 1 }`).join('\n')}\nvac: { demo: {} }\n`
const withModule = text => ({ 'vac_config.yaml': configuration({ stream_interpreter: './bad.mjs', tasks: { store: 'memory' } }), 'bad.mjs': text })

/** Files of each configuration; a function prepares the folder. */
const CONFIGURATIONS = {
  '30 kB of [': '['.repeat(30_000),
  '30 kB of {': '{'.repeat(30_000),
  '30 kB of "- "': '- '.repeat(15_000),
  '"? " and ": "': `${'? '.repeat(10_000)}\n${': '.repeat(10_000)}`,
  'nested keys': Array.from({ length: 3_000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  'billion laughs': laughs,
  'merges of merges': merges,
  'quadratic anchors': `kind: vacConfig\nvac:\n${Array.from({ length: 20_000 }, (_, i) => `  v${i}: &a${i} { display_name: x }`).join('\n')}\n`,
  '200,000 keys': `kind: vacConfig\nvac:\n  demo:\n${Array.from({ length: 200_000 }, (_, i) => `    k${i}: ${i}`).join('\n')}\n`,
  '200,000 unknown keys': `kind: vacConfig\n${Array.from({ length: 200_000 }, (_, i) => `k${i}: ${i}`).join('\n')}\n`,
  '20,000 VACs': `kind: vacConfig\nservice: { stream_interpreter: echo, tasks: { store: memory } }\nvac:\n${Array.from({ length: 20_000 }, (_, i) => `  v${i}: { display_name: x }`).join('\n')}\n`,
  '100 MB': folder => writeFileSync(join(folder, 'vac_config.yaml'), Buffer.alloc(100 * 1024 * 1024, 'a: b\n')),
  'a string of 20 MB': `kind: vacConfig\nvac: { demo: { display_name: "${'x'.repeat(20_000_000)}" } }`,
  'NUL bytes': Buffer.alloc(100_000),
  'bytes of chance': Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919 + 13) % 251)),
  nothing: '',
  'tags and directives': '%YAML 9.9\n--- !!js/function "function () { process.exit(7) }"\nkind: !<tag:x> vacConfig\n',
  '20,000 variables': `kind: vacConfig\nvac: { demo: { display_name: "${'${A:-'.repeat(20_000)}" } }`,
  'a FIFO': folder => execFileSync('mkfifo', [join(folder, 'vac_config.yaml')]),
  'a folder': folder => mkdirSync(join(folder, 'vac_config.yaml')),
  'a link to itself': folder => execFileSync('ln', ['-s', 'vac_config.yaml', join(folder, 'vac_config.yaml')]),
  'a module that never loads': withModule('await new Promise(() => {})\nexport const stream_interpreter = () => "x"\n'),
  'a module that loads for ever': withModule('setInterval(() => {}, 1000)\nawait new Promise(() => {})\nexport const stream_interpreter = () => "x"\n'),
  'a module that throws': withModule('throw new Error("no\\u001b[2J")\n'),
  'a module that imports itself away': withModule('export * from "./gone.mjs"\n'),
  'a module that exports nothing': withModule('export const a = 1\n'),
  'a module that ends the process': withModule('process.exitCode = 0\nthrow null\n')
}

/** Writes one of them in place of the configuration. */
function write (folder, content) {
  rmSync(join(folder, 'vac_config.yaml'), { recursive: true, force: true })
  if (typeof content === 'function') return content(folder)
  const files = typeof content === 'string' || Buffer.isBuffer(content) ? { 'vac_config.yaml': content } : content
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), typeof text === 'string' || Buffer.isBuffer(text) ? text : JSON.stringify(text))
}

const MAY_BE_GOOD = ['quadratic anchors', '200,000 keys', '20,000 VACs', 'a string of 20 MB', 'billion laughs', 'merges of merges']

/** Waits for a module up to the bound of the host: they begin together, and wait next to the others. */
const SLOW = ['a module that never loads', 'a module that loads for ever']

async function check (content) {
  const folder = folderOf()
  write(folder, content)
  const command = start([`--import=${probe}`, cli, 'check'], { cwd: folder })
  const timer = setTimeout(() => command.kill(), MAX_CHECK_MS)
  const end = await command.ended
  clearTimeout(timer)
  rmSync(folder, { recursive: true, force: true })
  return { ...end, bytes: command.out.bytes }
}

/** Writes a bad configuration, then a good one; resolves to whether the good one is in force. */
async function reload (host, content, name) {
  write(host.folder, content)
  // long enough for the watcher to see it; the honest client measures meanwhile
  await delay(WATCH_MS)
  rmSync(join(host.folder, 'vac_config.yaml'), { recursive: true, force: true })
  writeFileSync(join(host.folder, 'vac_config.yaml'), good.replace('"display_name":"Demo"', `"display_name":"${name}"`))
  const followed = await until(async () => jsonOf(await send(host.url, { path: '/vac' }))?.vacs.some(vac => vac.display_name === name), MAX_CHECK_MS)
  return { tried: 2, followed }
}

export const group = {
  host: () => ({ config: configuration({ tasks: { store: 'memory' } }) }),
  async entries (context) {
    const slow = await startHost({ config: configuration({ tasks: { store: 'memory' } }) })
    const begun = new Map(SLOW.map(name => [name, check(CONFIGURATIONS[name])]))
    const slowReload = reload(slow, CONFIGURATIONS[SLOW[0]], 'Slow')
    const checks = Object.entries(CONFIGURATIONS).map(([name, content]) => ({
      name: `polyvac check with ${name}`,
      attack: () => begun.get(name) ?? check(content),
      holds: ({ code, signal, text, bytes }) => signal !== null
        ? [`it does not end within ${MAX_CHECK_MS / 1000} s`]
        : [
            ...code === 0 && !MAY_BE_GOOD.includes(name) ? ['it ends with code 0'] : [],
            ...code !== 0 && code !== 1 && code !== 2 ? [`it ends with code ${code}: ${text.slice(-200)}`] : [],
            ...code !== 0 && !/polyvac|vac_config|bad\.mjs/.test(text) ? [`its message does not name the file: ${JSON.stringify(text.slice(0, 200))}`] : [],
            ...bytes > MAX_TEXT ? [`it prints ${bytes} bytes`] : [],
            ...(/^\s+at \S+ .*:\d+:\d+/m.test(text)) ? [`it prints a stack: ${text.slice(0, 200)}`] : [],
            // eslint-disable-next-line no-control-regex
            ...(/\u001b\[2J|\u0000/.test(text)) ? ['control characters reach the terminal'] : []
          ],
      repro: `the file: ${typeof content === 'string' ? JSON.stringify(content.slice(0, 120)) : name}; polyvac check`,
      ms: MAX_CHECK_MS * 2
    }))
    const reloads = Object.entries(CONFIGURATIONS).filter(([name]) => !SLOW.includes(name)).map(([name, content], i) => ({
      name: `a reload with ${name}`,
      attack: () => reload(context.host, content, `Demo ${i}`)
    }))
    const lastReload = {
      name: `a reload with ${SLOW[0]}`,
      async attack () {
        const seen = await slowReload
        slow.kill()
        return seen
      }
    }
    const holds = ({ followed }) => followed ? [] : [`the next good configuration is not in force after ${MAX_CHECK_MS / 1000} s`]
    const last = checks.filter(({ name }) => SLOW.some(slow => name.endsWith(slow)))
    return [
      ...checks.filter(entry => !last.includes(entry)),
      ...[...reloads, lastReload].map(entry => ({ ...entry, holds, ms: MAX_CHECK_MS * 2, repro: 'a running host; write it to vac_config.yaml, then a good one' })),
      ...last
    ]
  }
}
