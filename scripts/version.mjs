// The step `version` of a release: moves the texts of .changeset into the changelogs, and writes the version that the
// code reads. The packages have one version, so CHANGELOG.md has each text once; the one of a package has its own.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const KINDS = ['major', 'minor', 'patch']

/** The section of a version in CHANGELOG.md. @param changesets the texts of the files, each with its head */
export function changelogSection (version, changesets) {
  const changes = changesets.map(file => {
    const [, head, text] = /^---\n([^]*?)\n---\n([^]*)$/.exec(file.replaceAll('\r\n', '\n')) ?? []
    if (head === undefined) throw new Error(`not a changeset: ${file.slice(0, 100)}`)
    const packages = [...head.matchAll(/^['"]?([^'":\s]+)['"]?:\s*['"]?(\w+)/gm)].map(([, name, kind]) => ({ name, kind }))
    return {
      kind: KINDS.find(kind => packages.some(entry => entry.kind === kind)) ?? 'patch',
      line: `- ${packages.map(({ name }) => name.replace('@polyvac/', '')).sort().join(', ')}: ${text.trim().replace(/\n(?=.)/g, '\n  ')}`
    }
  })
  const parts = KINDS.map(kind => [kind, changes.filter(change => change.kind === kind)]).filter(([, found]) => found.length > 0)
  return [`## ${version}`, ...parts.map(([kind, found]) => `### ${kind[0].toUpperCase()}${kind.slice(1)} changes\n\n${found.map(({ line }) => line).join('\n')}`)].join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = new URL('..', import.meta.url)
  const read = path => readFileSync(new URL(path, root), 'utf8')
  const write = (path, text) => writeFileSync(new URL(path, root), text)
  const changesets = readdirSync(new URL('.changeset/', root)).filter(name => name.endsWith('.md') && name !== 'README.md').sort()
    .map(name => read(`.changeset/${name}`))

  const { status } = spawnSync('npx', ['--yes', '@changesets/cli@3.0.3', 'version'], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  const { version } = JSON.parse(read('packages/core/package.json'))
  if (changesets.length > 0) write('CHANGELOG.md', read('CHANGELOG.md').replace(/^(?=## )/m, () => `${changelogSection(version, changesets)}\n\n`))
  const file = 'packages/core/src/basics/version.ts'
  write(file, read(file).replace(/(VERSION = )'.*'/, `$1'${version}'`))
}
