import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { parse } from 'yaml'
import { VERSION } from '@polyvac/core/plugin'
import { root } from './fixtures/pages.js'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const folders = ['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).map(name => `${group}/${name}`))
  .filter(folder => existsSync(join(root, folder, 'package.json')))

test('each package names its repository, and has main and types besides exports', t => {
  for (const folder of folders) {
    const manifest = JSON.parse(read(`${folder}/package.json`))
    const { name, repository, homepage, bugs, keywords, publishConfig, main, types, typesVersions, exports } = manifest
    t.equal(repository.directory, folder, name)
    for (const url of [repository.url, homepage, bugs.url]) t.match(url, /https:\/\/github\.com\/polyvac\/polyvac/)
    t.ok(keywords.includes('polyvac'))
    t.strictSame(publishConfig, { access: 'public', provenance: true })
    for (const [entry, target] of Object.entries<{ types?: string, default?: string }>(exports)) {
      if (target.types === undefined) continue
      // moduleResolution: node reads no exports
      const found = entry === '.' ? [main, types] : [target.default, typesVersions['*'][entry.slice(2)][0]]
      t.strictSame(found, [target.default, target.types], `${name} ${entry}`)
    }
  }
  t.equal(folders.length, 17)
  t.end()
})

test('the version in the code is that of each package', t => {
  for (const folder of folders) t.equal(JSON.parse(read(`${folder}/package.json`)).version, VERSION, `${folder}: scripts/version.mjs writes it`)
  t.end()
})

test('each entry point states which of its exports are public', t => {
  for (const folder of folders.filter(folder => existsSync(join(root, folder, 'src/index.ts')))) {
    t.match(read(`${folder}/src/index.ts`), /^\/\/ The public API of /, folder)
  }
  t.match(read('packages/core/src/plugin.ts'), /^\/\/ For Polyvac's own packages only/)
  t.match(read('packages/core/src/basics.ts'), /^\/\/ For Polyvac's own packages only/)
  t.match(read('apps/host/src/command.ts'), /^\/\/ For the command polyvac only/)
  t.end()
})

test('the workflows run on the versions of Node.js that are supported, and publish with provenance', t => {
  const ci = parse(read('.github/workflows/ci.yml'))
  const shards = new Map<number, string[]>()
  for (const { node, shard } of ci.jobs.test.strategy.matrix.include as Array<{ node: number, shard: string }>) shards.set(node, [...shards.get(node) ?? [], shard])
  t.strictSame([...shards.keys()], [20, 22, 24])
  for (const [node, found] of shards) t.strictSame(found, found.map((_shard, i) => `${i + 1}/${found.length}`), `all tests run on Node.js ${node}`)
  const run = read('.ci/run')
  const parts = [...run.matchAll(/^part (?:npm run |node scripts\/)(\w+)(?:\.mjs)?$/gm)].map(([, name]) => name)
  t.match(run, /^node scripts\/rehearse\.mjs .* &$/m, 'the rehearsal runs while the other parts do')
  t.strictSame(ci.jobs.check.strategy.matrix.part, [...parts, 'rehearse', 'site', 'lint'], 'what .ci/run checks after the tests, the site, and the lint rules that need types')
  const publish = parse(read('.github/workflows/publish.yml'))
  t.equal(publish.jobs.publish.permissions['id-token'], 'write')
  const changesets = JSON.parse(read('.changeset/config.json'))
  t.strictSame(changesets.fixed, [['@polyvac/*', 'polyvac']])
  t.equal(changesets.changelog, '@changesets/cli/changelog', 'a release keeps the texts of its changesets')
  for (const file of ['.github/dependabot.yml', '.github/ISSUE_TEMPLATE/bug.yml', '.github/ISSUE_TEMPLATE/feature.yml']) t.doesNotThrow(() => parse(read(file)), file)
  t.end()
})

test('a release moves the text of each changeset into the changelog, the greatest changes first', async t => {
  const { changelogSection } = await import(`${root}/scripts/version.mjs`) as { changelogSection: (version: string, changesets: string[]) => string }
  const section = changelogSection('1.2.3', [
    "---\n'@polyvac/vac': patch\n---\n\nA route is quick. It costs $& less.\n",
    '---\r\n"polyvac": patch\r\n"@polyvac/a2a": minor\r\n---\r\n\r\nA card:\r\n\r\n- has a name\r\n'
  ])
  t.equal(section, '## 1.2.3\n\n### Minor changes\n\n- a2a, polyvac: A card:\n\n  - has a name\n\n### Patch changes\n\n- vac: A route is quick. It costs $& less.')
  t.throws(() => changelogSection('1.2.3', ['no head']), /not a changeset: no head/)
})

test('packages with data or code of others ship the notices of those', t => {
  const documents = JSON.parse(read('packages/documents/package.json'))
  t.ok(documents.files.includes('NOTICE'))
  t.match(read('packages/documents/NOTICE'), /common-stems[^]*SUBTLEX-US[^]*Brysbaert/)
  // what the bundle of the page contains; the build writes it
  const notice = read('packages/playground/dist/NOTICE')
  for (const name of ['preact', '@preact/signals', '@preact/signals-core', '@cfworker/json-schema']) {
    t.match(notice, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\n\\n[^]*Permission is hereby granted`, 'm'), name)
  }
  t.end()
})
