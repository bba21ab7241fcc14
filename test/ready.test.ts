import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { root } from './fixtures/pages.js'

test('npm start prints a line at the start of each step, also without a terminal', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-ready-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const bin = join(folder, 'bin')
  await cp(join(root, 'scripts/ready.mjs'), join(folder, 'scripts/ready.mjs'))
  for (const name of [join(folder, 'node_modules/typescript/bin'), join(folder, 'packages/playground'), bin]) await mkdir(name, { recursive: true })
  await writeFile(join(folder, 'package-lock.json'), '{}')
  await writeFile(join(folder, 'node_modules/typescript/bin/tsc'), '')
  await writeFile(join(folder, 'packages/playground/build.mjs'), '')
  await writeFile(join(bin, 'npm'), '#!/bin/sh\necho npm "$@" >&2\n')
  await chmod(join(bin, 'npm'), 0o755)
  const { NODE_OPTIONS, CI, ...env } = process.env
  const { stderr } = await promisify(execFile)(process.execPath, [join(folder, 'scripts/ready.mjs')], {
    env: { ...env, PATH: `${bin}${delimiter}${env.PATH}` }
  })
  t.match(stderr, /^polyvac: installing packages .*…\nnpm ci .*\npolyvac: building …\n$/)
})
