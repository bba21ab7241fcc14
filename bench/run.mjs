// `npm run bench` measures everything, `npm run bench -- <name>` one scenario.
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { chart } from './chart.mjs'
import { markdownTable, printTable } from './table.mjs'

/** In the order in which they are told. Each file exports its `title` and `run()`. */
const SCENARIOS = ['direct', 'stream', 'idle', 'stalled', 'leave', 'close', 'documents', 'start']

const asked = process.argv.slice(2)
const unknown = asked.find(name => !SCENARIOS.includes(name))
if (unknown !== undefined) {
  process.stderr.write(`bench: no scenario is named ${JSON.stringify(unknown)}; there are ${SCENARIOS.join(', ')}\n`)
  process.exit(2)
}

const results = []
for (const name of asked.length > 0 ? asked : SCENARIOS) {
  const { title, run } = await import(`./${name}.mjs`)
  process.stderr.write(`bench: ${name} …\n`)
  try {
    results.push({ name, title, figures: await run() })
  } catch (err) {
    // one scenario that cannot run must not cost the figures of the others
    process.exitCode = 1
    process.stderr.write(`bench: ${name} could not run: ${err.stack}\n`)
  }
}

const where = `${cpus().length} shared cores, Node ${process.versions.node.split('.').slice(0, 2).join('.')}`
printTable(results, where)
// a part of the scenarios must not replace the whole picture
if (asked.length === 0 && process.exitCode === undefined) {
  await writeFile(new URL('results.json', import.meta.url), `${JSON.stringify({ where, results }, undefined, 2)}\n`)
  await writeFile(new URL('../docs/explain/performance.svg', import.meta.url), chart(results, where))
  process.stdout.write(`\n${markdownTable(results)}`)
}
