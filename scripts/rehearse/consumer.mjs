import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { install, withInstallScript } from './project.mjs'
import { npm, root, run } from './run.mjs'

const ASK = `
const agent = async function * (question) { yield 'You asked: '; yield question }
const app = Fastify()
app.register(vac, { vacs: createVacs({ vacs: ['demo'], streamInterpreter: agent }) })
app.listen({ port: 0 }).then(async address => {
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const response = await fetch(address + '/vac/demo', { method: 'POST', headers, body: '{"user_input":"why?"}' })
  console.log(JSON.stringify(await response.json()))
  await app.close()
})
`
/** The app of a reader of the README, which prints the answer to a question. */
export const APPS = {
  'app.mjs': `import { createVacs } from '@polyvac/core'\nimport vac from '@polyvac/vac'\nimport Fastify from 'fastify'\n${ASK}`,
  'app.cjs': `const { createVacs } = require('@polyvac/core')\nconst { vacPlugin: vac } = require('@polyvac/vac')\nconst Fastify = require('fastify')\n${ASK}`
}

const TYPED = `import { createVacs, type Answer, type Interpreter } from '@polyvac/core'
import vac, { vacPlugin, type VacPluginOptions } from '@polyvac/vac'
import Fastify from 'fastify'

const agent: Interpreter = async function * (question, vectorName, chatHistory, { signal }) {
  signal.throwIfAborted()
  for (const { role, content } of chatHistory) yield \`\${role}: \${content}\`
  yield { progress: 0.5 }
  return { answer: question, source_documents: [{ page_content: vectorName, metadata: {} }] }
}
const vacs = createVacs({ vacs: { demo: { display_name: 'Demo' } }, streamInterpreter: agent })
const limit = process.env.LIMIT
const options: VacPluginOptions = { vacs, bodyLimit: limit === undefined ? undefined : Number(limit) }

const app = Fastify()
await app.register(vac, { prefix: '/agents', ...options })
// @ts-expect-error the option vacs is missing
await app.register(vacPlugin, { prefix: '/agents' })
// @ts-expect-error a time is a number
await app.register(vacPlugin, { vacs, timeoutMs: '5 s' })

const answer: Answer = await vacs.get('demo').ask({ question: 'why?' })
console.log(answer.answer, answer.source_documents[0]?.page_content)
`
/** Compiler options of a user who checks everything. */
export const STRICT = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true
}
/** CommonJS with `require` of ESM. */
const TYPED_COMMONJS = `import core = require('@polyvac/core')
import vac = require('@polyvac/vac')

const vacs = core.createVacs({ vacs: ['demo'], streamInterpreter: question => question })
// @ts-expect-error a time is a number
const options: vac.VacPluginOptions = { vacs, timeoutMs: '5 s' }
export = options
`
const TSCONFIG = { compilerOptions: STRICT, files: ['typed.ts', 'typed.cts'] }
const BUNDLER = { compilerOptions: { ...STRICT, module: 'esnext', moduleResolution: 'bundler' }, files: ['typed.ts'] }

/** A Fastify app that adds the one plugin: small, script-free, from ESM, CommonJS and strict TypeScript. */
export async function consumer (packed, temporary, check) {
  const folder = join(temporary, 'consumer')
  await mkdir(folder)
  const { peerDependencies: { fastify } } = packed.get('@polyvac/vac').manifest
  const manifest = { name: 'consumer', version: '1.0.0', private: true, type: 'module', dependencies: { fastify, '@polyvac/core': '', '@polyvac/vac': '' } }
  for (const [name, text] of Object.entries({ ...APPS, 'typed.ts': TYPED, 'typed.cts': TYPED_COMMONJS, 'package.json': JSON.stringify(manifest), 'tsconfig.json': JSON.stringify(TSCONFIG), 'tsconfig.bundler.json': JSON.stringify(BUNDLER) })) {
    await writeFile(join(folder, name), text)
  }

  await check('Fastify, core and vac install', () => install(folder))
  await check('none of them needs an install script', async () => assert.deepEqual(await withInstallScript(folder), []))
  for (const file of Object.keys(APPS)) {
    await check(`${file.endsWith('.cjs') ? 'CommonJS' : 'ESM'} asks a question`, async () => {
      const { answer } = JSON.parse(await run(process.execPath, [file], { cwd: folder }))
      assert.equal(answer, 'You asked: why?')
    })
  }
  await check('a strict TypeScript program compiles, and a missing option does not', async () => {
    const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    await npm(['install', '--save-dev', '--ignore-scripts', ...['typescript', '@types/node'].map(name => `${name}@${dependencies[name]}`)], folder)
    for (const project of ['tsconfig.json', 'tsconfig.bundler.json']) await run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', project], { cwd: folder })
  })
}
