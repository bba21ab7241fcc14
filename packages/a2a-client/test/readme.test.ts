import { readFile, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

test('the example of the README runs', async t => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const examples = [...readme.matchAll(/```js\n([^]*?)```[^`]*```text\n([^]*?)```/g)]
  t.equal(examples.length, 1)
  for (const [i, [, code = '', output = '']] of examples.entries()) {
    // inside the package, so that it finds itself by name
    const file = fileURLToPath(new URL(`readme-example-${process.pid}-${i}.mjs`, import.meta.url))
    await writeFile(file, code)
    t.teardown(async () => { await rm(file, { force: true }) })
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...process.execArgv, file])
    t.equal(stderr, '')
    t.equal(stdout, output)
  }
})
