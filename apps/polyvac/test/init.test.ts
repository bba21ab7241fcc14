import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { TEMPLATES } from '../src/options.js'
import { emptyFolder, root, runPolyvac } from '../../../test/fixtures/command.js'

const run = promisify(execFile)
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const PATH = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`

/** A folder filled by `polyvac init`, with the packages of this repository. */
async function initialised (t: Parameters<typeof emptyFolder>[0], template: string): Promise<string> {
  const folder = await emptyFolder(t)
  // with a package.json, init packs no packages
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await runPolyvac(['init', '--template', template], folder)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

for (const template of TEMPLATES) {
  test(`the template ${template} has what git and a shell read, and its own test passes`, async t => {
    const folder = await initialised(t, template)
    const names = await readdir(folder, { recursive: true })
    for (const name of ['.gitignore', '.env.example', 'README.md', join('docs', 'welcome.md')]) t.ok(names.includes(name), name)
    t.notOk(names.some(name => ['gitignore', 'env.example'].includes(name)), 'no second form of these')
    // the compiler reads all of the folder: one run of it for the template and for the plugin of an app
    if (template === 'ts') await cp(join(root, 'apps/polyvac/templates/app/agents.ts'), join(folder, 'agents.ts'))
    const { scripts } = JSON.parse(await readFile(join(root, 'apps/polyvac/templates', template, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
    const command = scripts.test!.replace(/^tsc/, `${process.execPath} ${tsc}`).replace('node --test', `${process.execPath} --test`)
    const { stdout } = await run('sh', ['-c', command], { cwd: folder, env: { PATH } })
    t.match(stdout, /pass 1\n/)

    const texts = await Promise.all(['README.md', join('docs', 'welcome.md')].map(name => readFile(join(folder, name), 'utf8')))
    for (const [, name] of texts.join('\n').matchAll(/`(?:npm (?:run )?)(\w+)`/g)) {
      t.ok(name === 'install' || name! in scripts, `npm run ${name} exists`)
    }
    for (const [, file] of texts.join('\n').matchAll(/`([\w./-]+\.(?:ts|mjs|md|yaml|example)|docs\/|Dockerfile|\.gitignore)`/g)) {
      t.ok(names.includes(file!.replace(/\/$/, '')) || names.includes(join('docs', file!)), `${file} exists`)
    }
  })
}

test('the template ts has no second form of its modules in JavaScript', async t => {
  const names = await readdir(await initialised(t, 'ts'))
  t.strictSame(names.filter(name => /\.m?[jt]s$/.test(name)), ['interpreter.ts', 'service.test.ts'])
})

interface App { readonly manifest: object, readonly tsconfig?: object, readonly folders?: string[], readonly file: string, readonly register: RegExp }
const fastify = { dependencies: { fastify: '^5.0.0' } }
const apps: Record<string, App> = {
  'ECMAScript modules': { manifest: { type: 'module', ...fastify }, file: 'agents.mjs', register: /^ {4}import agents from '\.\/agents\.mjs'\n {4}await app\.register\(agents, \{ prefix: '\/agents' \}\)$/m },
  CommonJS: { manifest: fastify, file: 'agents.mjs', register: /^ {4}app\.register\(import\('\.\/agents\.mjs'\), \{ prefix: '\/agents' \}\)$/m },
  TypeScript: { manifest: { type: 'module', ...fastify }, tsconfig: { compilerOptions: { strict: true } }, file: 'agents.ts', register: /'\.\/agents\.js'\n {4}await app/ },
  'TypeScript below src, as CommonJS': {
    manifest: fastify, tsconfig: { include: ['src'] }, folders: ['src'], file: join('src', 'agents.ts'), register: /'\.\/agents\.js'\n {4}app\.register/
  },
  'TypeScript for a bundler': {
    manifest: { type: 'module', ...fastify }, tsconfig: { compilerOptions: { moduleResolution: 'bundler' } }, folders: ['src'], file: 'agents.ts', register: /await app/
  }
}
for (const [name, { manifest, tsconfig, folders = [], file, register }] of Object.entries(apps)) {
  test(`init in a Fastify app of ${name} writes one plugin, and prints what to register`, async t => {
    const folder = await emptyFolder(t)
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
    if (tsconfig !== undefined) await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
    for (const name of folders) await mkdir(join(folder, name))
    const before = await readdir(folder, { recursive: true })
    const { code, stdout } = await runPolyvac(['init'], folder)
    t.equal(code, 0)
    t.match(stdout, register)
    t.match(stdout, /npm install \S*polyvac-core-\S+ \S*polyvac-vac-\S+\n/, 'the packages of a clone are packed')
    t.strictSame((await readdir(folder, { recursive: true })).sort(), [...before, file].sort())
    t.strictSame(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')), manifest)

    if (tsconfig !== undefined) return
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const main = join(folder, `main.${'type' in manifest ? 'mjs' : 'cjs'}`)
    const load = 'type' in manifest ? 'import Fastify from \'fastify\'' : 'const Fastify = require(\'fastify\')'
    const lines = stdout.split('\n').filter(line => /^ {4}(?:import|await|app)\b/.test(line)).join('\n')
    const ask = 'app.inject({ method: \'POST\', url: \'/agents/vac/assistant\', payload: { user_input: \'Is it on?\' } }).then(({ body }) => console.log(body))'
    await writeFile(main, `${load}\nconst app = Fastify()\n${lines}\n${ask}\n`)
    t.match(JSON.parse((await run(process.execPath, [main])).stdout), { answer: 'You asked: Is it on?' })
  })
}

test('init keeps a plugin that is there, and writes a service where it is asked for one or the folder has no app', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'package.json'), JSON.stringify(fastify))
  await writeFile(join(folder, 'agents.mjs'), 'mine')
  t.match((await runPolyvac(['init'], folder)).stdout, /kept {5}agents\.mjs/)
  t.equal(await readFile(join(folder, 'agents.mjs'), 'utf8'), 'mine')
  t.match((await runPolyvac(['init', '--template', 'ts'], folder)).stdout, /kept {5}package\.json\n[^]*written {2}vac_config\.yaml/)
  t.match((await runPolyvac(['init'], folder)).stdout, /kept {5}vac_config\.yaml/, 'with a configuration it is a service')
  for (const manifest of ['{ "devDependencies": { "fastify": "5" } }', '{ "dependencies": null }', 'null', '[', '{ "dependencies": { "express": "5" } }']) {
    const other = await emptyFolder(t)
    await writeFile(join(other, 'package.json'), manifest)
    t.match((await runPolyvac(['init'], other)).stdout, /written {2}vac_config\.yaml/, manifest)
  }
})
