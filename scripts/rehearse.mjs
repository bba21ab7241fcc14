// Rehearses a release: packs every package, publishes it into a registry on loopback, and does in empty folders outside
// the checkout what the README promises after the release. Ends with a line for each part and `rehearse: N passed,
// N failed`. Needs scripts/ready.mjs with `all scripts/rehearse`. Arguments are names of parts; default: all.
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consumer } from './rehearse/consumer.mjs'
import { declarations } from './rehearse/declarations.mjs'
import { examples } from './rehearse/examples.mjs'
import { initialised } from './rehearse/initialised.mjs'
import { nodes } from './rehearse/nodes.mjs'
import { pnpm } from './rehearse/pnpm.mjs'
import { startRegistry } from './rehearse/registry.mjs'
import { sizes } from './rehearse/sizes.mjs'
import { pack, tarballs } from './rehearse/tarballs.mjs'
import { templates } from './rehearse/templates.mjs'
import { Report } from './rehearse/report.mjs'

const names = process.argv.slice(2)
const parts = [tarballs, consumer, sizes, declarations, examples, initialised, templates, nodes, pnpm].filter(({ name }) => names.length === 0 || names.includes(name))
const report = new Report()
const temporary = await realpath(await mkdtemp(join(tmpdir(), 'polyvac-rehearse-')))
let registry
try {
  const packed = await pack(temporary)
  registry = await startRegistry(temporary, packed)
  for (const part of parts) {
    await report.part(part.name, check => part(packed, temporary, check))
  }
} catch (err) {
  report.fail('publishing', err)
} finally {
  registry?.kill()
  await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
}
process.stdout.write(`\n${report.lines().join('\n')}\nrehearse: ${report.passed} passed, ${report.failed} failed\n`)
process.exitCode = report.failed === 0 && report.passed > 0 ? 0 : 1
