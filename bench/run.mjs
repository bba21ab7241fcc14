// `npm run bench` measures everything, `npm run bench -- <name>` one scenario. `--keep` keeps the figures of that
// scenario among those of the last whole run.
import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { chart, growthChart } from './chart.mjs'
import { markdownTable, printTable, printWorse } from './table.mjs'

/**
 * In the order of the report. Each file exports its `title` and `run()`; with `mustMeet`, a figure that misses its bar
 * ends the run with exit code 1.
 */
const SCENARIOS = ['price', 'direct', 'layers', 'stream', 'idle', 'stalled', 'leave', 'close', 'growth', 'documents', 'answers', 'questions', 'start', 'tasks', 'task-stream', 'task-stalled', 'many-tasks', 'runs', 'conversations', 'chats', 'agent', 'a2a-dialects', 'gateway', 'mcp', 'telemetry', 'postgres', 'loop']

/** A scenario without `longestMs` takes a minute; one that hangs must not prevent the figures of the others. */
const LONGEST_MS = 180_000

const PAGE = new URL('../docs/explain/performance-figures.md', import.meta.url)
const FIGURES = /(?<=<!-- figures -->\n)[^]*(?=<!-- \/figures -->)/

const asked = process.argv.slice(2).filter(name => name !== '--keep')
const unknown = asked.find(name => !SCENARIOS.includes(name))
if (unknown !== undefined) {
  process.stderr.write(`bench: no scenario is named ${JSON.stringify(unknown)}; there are ${SCENARIOS.join(', ')}\n`)
  process.exit(2)
}

// an interrupt ends the servers and their folders too
process.once('SIGINT', () => process.exit(130))

const results = []
for (const name of asked.length > 0 ? asked : SCENARIOS) {
  const { title, run, longestMs = LONGEST_MS, mustMeet = false } = await import(`./${name}.mjs`)
  process.stderr.write(`bench: ${name} …\n`)
  try {
    const figures = await Promise.race([run(), late(name, longestMs)])
    results.push({ name, title, figures })
    if (mustMeet && figures.some(({ met }) => !met)) process.exitCode = 1
  } catch (err) {
    // a scenario that fails must not prevent the figures of the others
    process.exitCode = 1
    process.stderr.write(`bench: ${name} could not run: ${err.stack}\n`)
  }
}

const where = `${cpus().length} shared cores, Node ${process.versions.node.split('.').slice(0, 2).join('.')}`
printTable(results, where)
const file = new URL('results.json', import.meta.url)
const kept = JSON.parse(await readFile(file, 'utf8')).results
printWorse(results, kept)
// a run of some scenarios must not replace the results of a whole run
if ((asked.length === 0 || process.argv.includes('--keep')) && process.exitCode === undefined) {
  const all = SCENARIOS.flatMap(name => [...results, ...kept].find(result => result.name === name) ?? [])
  await writeFile(file, `${JSON.stringify({ where, results: all }, undefined, 2)}\n`)
  await writeFile(new URL('../docs/explain/performance.svg', import.meta.url), chart(all, where))
  await writeFile(new URL('../docs/explain/growth.svg', import.meta.url), growthChart(all, where))
  const page = await readFile(PAGE, 'utf8')
  await writeFile(PAGE, page.replace(FIGURES, `\n${where}:\n\n${markdownTable(all)}\n`))
}
// servers of a scenario that hung end with this process
process.exit()

async function late (name, ms) {
  await delay(ms, undefined, { ref: false })
  throw new Error(`${name} did not end within ${ms / 1000} s`)
}
