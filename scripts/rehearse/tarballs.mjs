import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { npm, root } from './run.mjs'

/** Files that must not be in a package. */
const FOREIGN = /(?:^|\/)(?:tests?|node_modules|coverage)\/|\.(?:tsbuildinfo|tgz|log|db)$|(?:^|\/)\.(?:env|npmrc)|^(?!templates\/).*\.test\./
/** Folders of one machine. */
const MACHINE = /(?:\/home|\/Users|\/root|[A-Z]:\\Users)[/\\][\w.-]+/

/** Packs all workspaces; returns `{ name, version, files, folder, file, manifest }` by name. */
export async function pack (destination) {
  const folders = new Map()
  for (const group of ['packages', 'apps']) {
    for (const entry of await readdir(join(root, group))) {
      const manifest = await readFile(join(root, group, entry, 'package.json'), 'utf8').then(JSON.parse, () => undefined)
      if (manifest !== undefined) folders.set(manifest.name, { folder: join(root, group, entry), manifest })
    }
  }
  const listed = JSON.parse(await npm(['pack', '--workspaces', '--json', '--pack-destination', destination], root))
  return new Map(Object.values(listed).map(({ name, version, filename, files, size }) => [name, {
    name, version, size, files: files.map(({ path }) => path), file: join(destination, filename), ...folders.get(name)
  }]))
}

/** Each tarball has the required files and no others. */
export async function tarballs (packed, temporary, check) {
  const licence = await readFile(join(root, 'LICENSE'), 'utf8')
  for (const { name, files, folder, file, size, manifest } of packed.values()) {
    await check(`${name} has its build, README and LICENSE, and no other files`, async () => {
      // code of others needs their licences
      const notices = { '@polyvac/a2a': ['proto/LICENSE'], '@polyvac/playground': ['dist/NOTICE'] }
      for (const wanted of ['package.json', 'README.md', 'LICENSE', ...(notices[name] ?? [])]) assert.ok(files.includes(wanted), `${wanted} is missing`)
      for (const wanted of manifest.files.filter(name => !name.startsWith('!'))) {
        assert.ok(files.some(path => path === wanted || path.startsWith(`${wanted}/`)), `${wanted} is missing`)
      }
      assert.equal(await readFile(join(folder, 'LICENSE'), 'utf8'), licence, 'LICENSE is not the one of the repository')
      assert.deepEqual(files.filter(path => FOREIGN.test(path)), [], 'files that must not be in it')
      return `${files.length} files, ${Math.round(size / 1024)} kB`
    })
    await check(`${name} is built only from its own sources`, async () => {
      for (const path of files.filter(path => path.endsWith('.map') && path.startsWith('dist/'))) {
        const { sources, sourcesContent } = JSON.parse(await readFile(join(folder, path), 'utf8'))
        for (const [index, source] of sources.entries()) {
          const from = join(folder, dirname(path), source)
          const text = await readFile(from, 'utf8').catch(() => undefined)
          assert.equal(sourcesContent[index], text, `${path} was built from another ${from}: delete ${join(folder, 'dist')} and build again`)
        }
      }
    })
    await check(`${name} names no path of a machine`, async () => {
      for (const path of files) {
        const text = await readFile(join(folder, path), 'utf8')
        for (const place of [root, homedir() === '/' ? root : `${homedir()}/`]) assert.ok(!text.includes(place), `${path} names ${place}`)
        assert.doesNotMatch(text, MACHINE, path)
      }
    })
    await check(`${name} names its repository, its bugs, its words, and how it is published`, () => {
      const { repository, homepage, bugs, keywords, publishConfig, main, types, exports } = manifest
      assert.equal(join(root, repository.directory), folder)
      for (const text of [repository.url, homepage, bugs.url]) assert.match(text, /github\.com\/polyvac\/polyvac/)
      assert.ok(keywords.length > 2)
      assert.deepEqual(publishConfig, { access: 'public', provenance: true })
      if (exports['.'] !== undefined) assert.deepEqual([main, types], [exports['.'].default, exports['.'].types])
    })
    await check(`${name} passes publint`, async () => {
      const { messages, pkg } = await publint({ strict: true, pack: { tarball: new Uint8Array(await readFile(file)).buffer } })
      assert.deepEqual(messages.map(message => formatMessage(message, pkg)), [])
    })
  }
}
