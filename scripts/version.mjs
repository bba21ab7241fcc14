// The step `version` of a release: collects the files of .changeset, and writes the version that the code reads.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const { status } = spawnSync('npx', ['--yes', '@changesets/cli@3.0.3', 'version'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
const { version } = JSON.parse(readFileSync(new URL('../packages/core/package.json', import.meta.url), 'utf8'))
const file = new URL('../packages/core/src/basics/version.ts', import.meta.url)
writeFileSync(file, readFileSync(file, 'utf8').replace(/(VERSION = )'.*'/, `$1'${version}'`))
