// Tests what users install: packs every package, then installs and uses the tarballs in temporary folders outside the
// workspace, where no file of the checkout is found. Ends with a line per part and `packed: N passed, N failed`.
// Needs a build (scripts/ready.mjs) before it. Arguments are names of parts; default: all.
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consumer } from './packed/consumer.mjs'
import { declarations } from './packed/declarations.mjs'
import { examples } from './packed/examples.mjs'
import { initialised } from './packed/initialised.mjs'
import { sizes } from './packed/sizes.mjs'
import { pack, tarballs } from './packed/tarballs.mjs'
import { Report } from './packed/report.mjs'

const names = process.argv.slice(2)
const parts = [tarballs, consumer, sizes, declarations, examples, initialised].filter(({ name }) => names.length === 0 || names.includes(name))
const report = new Report()
const temporary = await realpath(await mkdtemp(join(tmpdir(), 'polyvac-packed-')))
try {
  const packed = await pack(temporary)
  for (const part of parts) {
    await report.part(part.name, check => part(packed, temporary, check))
  }
} catch (err) {
  report.fail('packing', err)
} finally {
  await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
}
process.stdout.write(`\n${report.lines().join('\n')}\npacked: ${report.passed} passed, ${report.failed} failed\n`)
process.exitCode = report.failed === 0 && report.passed > 0 ? 0 : 1
