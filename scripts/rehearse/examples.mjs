import { cp, readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { install } from './project.mjs'
import { root, run } from './run.mjs'

/** Every example runs its own test with the packages of the registry. */
export async function examples (packed, temporary, check) {
  const entries = await readdir(join(root, 'examples'), { withFileTypes: true })
  for (const { name } of entries.filter(entry => entry.isDirectory())) {
    const source = join(root, 'examples', name)
    // a folder without package.json is not an example for users
    if (!existsSync(join(source, 'package.json'))) continue
    const folder = join(temporary, `example-${name}`)
    await cp(source, folder, { recursive: true, filter: path => !['node_modules', '.polyvac'].includes(basename(path)) })
    await check(`${name} installs`, () => install(folder))
    await check(`${name} passes its test`, async () => { await run(process.execPath, ['test.mjs'], { cwd: folder }) })
  }
}
