import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { root } from './fixtures/pages.js'

interface Import { from: string, to: string, type: boolean }

const { cycles, forbiddenArrows, importsOfPackages, importsOfSources, impureProtocols, notInstalled, packageArrows } = await import(`${root}/scripts/imports.mjs`) as {
  cycles: (imports: Import[]) => string[]
  forbiddenArrows: (imports: Import[]) => string[]
  importsOfPackages: (imports: Import[]) => Array<{ from: string, to: string }>
  importsOfSources: () => Import[]
  impureProtocols: (imports: Import[]) => string[]
  notInstalled: (imports: Array<{ from: string, to: string }>) => string[]
  packageArrows: (imports: Import[]) => Array<{ from: string, to: string, type: boolean }>
}
const src = 'packages/x/src'
const importOf = (from: string, to: string): Import => ({ from: `${src}/${from}`, to: `${src}/${to}`, type: true })

test('a cycle of files and a cycle of folders are found, and a file at the root is not a folder', t => {
  t.strictSame(cycles([importOf('a.ts', 'b.ts'), importOf('b.ts', 'c.ts'), importOf('c.ts', 'a.ts')]),
    ['packages/x/src: a.ts imports b.ts; b.ts imports c.ts; c.ts imports a.ts'])
  t.strictSame(cycles([importOf('a/1.ts', 'b/1.ts'), importOf('b/2.ts', 'a/2.ts')]),
    ['packages/x/src: a/1.ts imports b/1.ts; b/2.ts imports a/2.ts'], 'no file imports itself, the folders do')
  t.strictSame(cycles([importOf('index.ts', 'a/1.ts'), importOf('a/1.ts', 'errors.ts')]), [])
  t.strictSame(cycles([importOf('a/open.ts', 'a/b/1.ts'), importOf('a/b/1.ts', 'a/types.ts')]), [],
    'a subfolder may use the files of its parent')
  t.end()
})

test('the sources of the packages, of the host and of the page are read, and components are files like others', t => {
  const imports = importsOfSources()
  for (const folder of ['packages/core/src/', 'apps/host/src/', 'packages/playground/page/chat/']) {
    t.ok(imports.some(({ from }) => from.startsWith(folder)), folder)
  }
  t.ok(imports.some(({ from, to }) => from === 'packages/playground/page/main.tsx' && to.endsWith('.tsx')), 'main.tsx imports components')
  t.end()
})

test('an arrow between packages needs its line in the table and in the manifest', t => {
  const arrow = (from: string, to: string, type = false) =>
    forbiddenArrows([{ from: `packages/${from}/src/a.ts`, to: `@polyvac/${to}`, type }])
  t.strictSame(arrow('vac', 'core'), [])
  t.strictSame(arrow('tasks', 'core'), [
    'packages/tasks/src/a.ts: tasks may not import values of core',
    'packages/tasks/src/a.ts: core is neither a dependency nor a peer dependency of tasks'
  ])
  t.match(arrow('mcp-gateway', 'mcp-server', true), [/may not import types of mcp-server/])
  t.match(arrow('core', 'mcp-protocol'), [/may not import values of mcp-protocol/])
  t.end()
})

test('the folder of a protocol imports only what computes', t => {
  const folder = 'packages/vac/src/protocols'
  const problems = (to: string) => impureProtocols([{ from: `${folder}/toy/frames.ts`, to, type: true }])
  for (const to of ['@polyvac/core', '@polyvac/core/protocol', '@sinclair/typebox', 'node:crypto', 'packages/vac/src/protocol.ts', 'packages/vac/src/errors.ts', 'packages/vac/src/openai/numbers.ts', `${folder}/toy/schemas.ts`]) t.strictSame(problems(to), [], to)
  for (const to of ['fastify', 'node:fs', 'node:http', '@polyvac/core/plugin', '@fastify/accept-negotiator', 'packages/vac/src/options.ts', 'packages/vac/src/serve/failures.ts', `${folder}/direct/schemas.ts`, `${folder}/toy-two/frames.ts`]) {
    t.match(problems(to), [/a protocol may not import /], to)
  }
  t.strictSame(impureProtocols([{ from: 'packages/vac/src/protocols.ts', to: 'fastify', type: false }]), [])
  t.end()
})

test('types that are imported dynamically or by import type are read, comments are not', t => {
  const arrows = packageArrows(importsOfSources())
  for (const [from, to, type] of [['host', 'a2a', false], ['vac', 'core', false], ['mcp-server', 'tasks', true]]) {
    t.match(arrows.find(arrow => arrow.from === from && arrow.to === to), { type })
  }
  t.end()
})

test('what builds or runs imports only packages that npm start installs', t => {
  const imports = importsOfPackages(importsOfSources())
  for (const [folder, name] of [['packages/playground/page/', 'preact'], ['scripts/', 'esbuild'], ['docs/', 'zod'], ['apps/', 'fastify']] as const) {
    t.ok(imports.some(({ from, to }) => from.startsWith(folder) && to === name), `${name} in ${folder}`)
  }
  t.strictSame(notInstalled(imports), [])
  const absent = ['tap', '@opentelemetry/sdk-node', '@esbuild/linux-x64', 'no-such-package'].map(to => ({ from: 'packages/core/src/vac/vac.ts', to }))
  t.match(notInstalled(absent).map(text => / install (\S+);/.exec(text)?.[1]), absent.map(({ to }) => to), 'of tests, of a peer that only tests have, optional, unknown')
  t.end()
})

test('npm start installs at most 245 packages', t => {
  const { packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8')) as { packages: Record<string, { dev?: true, optional?: true, devOptional?: true, link?: true }> }
  // links are the packages of this repository
  const light = Object.entries(packages).filter(([path, { dev, optional, devOptional, link }]) => /(?:^|\/)node_modules\//.test(path) && !dev && !optional && !devOptional && !link)
  t.ok(light.length > 200 && light.length <= 245, `${light.length} packages`)
  t.end()
})
