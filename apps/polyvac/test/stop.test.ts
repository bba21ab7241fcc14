import { test } from 'tap'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder, polyvac } from '../../../test/fixtures/command.js'

for (const [what, code] of Object.entries({
  'reads that fill the thread pool never end': 'for (let i = 0; i < 4; i++) readFile("fifo").catch(() => {})',
  'an interpreter blocks the event loop when its signal fires': 'signal.addEventListener("abort", () => { for (;;); })'
})) {
  test(`the host ends at the end of its grace where ${what}`, async t => {
    const folder = await emptyFolder(t)
    execFileSync('mkfifo', [join(folder, 'fifo')])
    await writeFile(join(folder, 'agent.mjs'), `import { readFile } from 'node:fs/promises'
      export default async function * (question, vac, history, { signal }) {
        ${code}
        console.error('asked')
        await new Promise(() => {})
      }`)
    await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: ./agent.mjs, tasks: { store: memory } }\nvac: { demo: {} }\n')
    const { child, out, url, ended } = polyvac(t, ['start', '--grace', '2'], folder)
    const asked = fetch(`${await url()}/vac/demo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"user_input":"x"}' })
    asked.catch(() => {})
    await until(() => out.stderr.includes('asked'), 'the interpreter runs')
    child.kill('SIGTERM')
    await ended
    t.equal(child.signalCode, 'SIGKILL')
  })
}
