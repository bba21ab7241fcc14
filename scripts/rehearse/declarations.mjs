import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join, posix } from 'node:path'
import { STRICT } from './consumer.mjs'
import { install } from './project.mjs'
import { npm, root, start } from './run.mjs'

/** Entry points whose declarations need optional peers; all others compile without any. */
const NEEDS = {
  '@polyvac/a2a/grpc': ['@grpc/grpc-js', 'protobufjs'],
  '@polyvac/documents/parts': ['ai', '@ai-sdk/openai-compatible'],
  '@polyvac/mcp-server': ['@polyvac/tasks']
}

/** Settings of older projects and of bundlers; they leave the declarations themselves unchecked. */
const RESOLUTIONS = {
  'moduleResolution: node': { ...STRICT, module: 'esnext', moduleResolution: 'node10', skipLibCheck: true },
  'module: node16': { ...STRICT, module: 'node16', skipLibCheck: true },
  'moduleResolution: bundler': { ...STRICT, module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true }
}

/** Every entry point of every package compiles with skipLibCheck: false, with what its manifest makes npm install. */
export async function declarations (packed, temporary, check) {
  const entries = [...packed.values()].flatMap(({ name, manifest }) => Object.entries(manifest.exports)
    .filter(([, target]) => target.types !== undefined)
    .map(([path, { types }]) => ({ name, entry: posix.join(name, path), types })))

  for (const { name, entry, types } of entries) {
    await check(`the declarations of ${entry} import what its manifest names`, async () => {
      const { folder, manifest } = packed.get(name)
      const imported = await importsOf(folder, types)
      const optional = imported.filter(module => manifest.peerDependenciesMeta?.[module]?.optional === true)
      const installed = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies }
      assert.deepEqual(imported.filter(module => !Object.hasOwn(installed, module)), [], 'not a dependency of the package')
      assert.deepEqual(optional.filter(module => NEEDS[entry]?.includes(module) !== true), [], 'optional peers')
    })
  }

  for (const { name, file, manifest } of packed.values()) {
    if (manifest.types === undefined) continue
    await check(`are the types of ${name} wrong: only require() of ESM, which is documented`, async () => {
      const { problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(await readFile(file))), { excludeEntrypoints: ['./package.json'] })
      assert.deepEqual(problems.filter(({ kind }) => kind !== 'CJSResolvesToESM'), [])
    })
  }

  const folder = join(temporary, 'declarations')
  await mkdir(folder)
  const dependencies = Object.fromEntries([...packed.keys()].map(name => [name, '']))
  const { dependencies: versions } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({
    name: 'declarations', private: true, type: 'module', dependencies, devDependencies: { '@types/node': versions['@types/node'] }
  }))
  await check('all packages install in an empty project', () => install(folder))

  const all = entries.map(({ entry }) => entry)
  const plain = all.filter(entry => NEEDS[entry] === undefined)
  await check(`${plain.length} entry points compile without optional peers`, () => compile(folder, plain))
  await check(`all ${all.length} entry points compile with their optional peers`, async () => {
    const peers = new Set(Object.values(NEEDS).flat().filter(peer => !packed.has(peer)))
    const ranges = Object.assign({}, ...[...packed.values()].map(({ manifest }) => manifest.peerDependencies))
    await npm(['install', '--ignore-scripts', ...[...peers].map(name => `${name}@${ranges[name]}`)], folder)
    return await compile(folder, all)
  })
  for (const [setting, options] of Object.entries(RESOLUTIONS)) {
    await check(`all ${all.length} entry points have types with ${setting}`, () => compile(folder, all, options))
  }
}

/** Modules that a declaration file imports, with those it reaches in its own package. */
async function importsOf (folder, file, seen = new Set()) {
  if (seen.has(file)) return []
  seen.add(file)
  const text = (await readFile(join(folder, file), 'utf8')).replace(/\/\*[^]*?\*\//g, '')
  const found = new Set()
  for (const [, module] of text.matchAll(/(?:from |import |import\()["']([^"']+)["']/g)) {
    if (module.startsWith('.')) {
      const next = posix.join(posix.dirname(file), module).replace(/\.js$/, '.d.ts')
      for (const name of await importsOf(folder, next, seen)) found.add(name)
    } else {
      const name = module.split('/').slice(0, module.startsWith('@') ? 2 : 1).join('/')
      if (!module.startsWith('node:') && !builtinModules.includes(name)) found.add(name)
    }
  }
  return [...found]
}

/** Errors in declarations of others are counted and shown, but are not ours to correct. */
async function compile (folder, entries, options = STRICT) {
  const program = entries.map((entry, i) => `export * as entry${i} from '${entry}'\n`).join('')
  await writeFile(join(folder, 'entries.ts'), program)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['entries.ts'] }))
  const tsc = start(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.'], { cwd: folder })
  await tsc.ended
  const errors = tsc.out.split('\n').filter(line => /error TS\d+/.test(line))
  const foreign = errors.filter(line => /^node_modules\/(?!@polyvac\/)/.test(line))
  assert.deepEqual(errors.filter(line => !foreign.includes(line)), [])
  return foreign.length === 0 ? undefined : `${foreign.length} errors in declarations of others, such as ${foreign[0]}`
}
