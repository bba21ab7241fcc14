import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { install } from './project.mjs'
import { npm, root, run, start } from './run.mjs'
import { ask, stop, urlOf } from './service.mjs'

const TEMPLATES = ['default', 'agent', 'model', 'ts']
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

/** The kinds of apps that `polyvac init` writes a plugin into. */
const APPS = {
  'ECMAScript modules': { type: 'module' },
  CommonJS: {},
  'TypeScript strict, NodeNext': { type: 'module', compilerOptions: { module: 'nodenext' } },
  'TypeScript strict, CommonJS': { compilerOptions: { module: 'nodenext' } },
  'TypeScript strict, bundler': { type: 'module', compilerOptions: { module: 'esnext', moduleResolution: 'bundler' } }
}

/** Each template of `polyvac init` installs, passes its test and starts; in an app, init writes a plugin that works. */
export async function templates (packed, temporary, check) {
  const tool = join(temporary, 'templates-tool')
  await mkdir(tool)
  await writeFile(join(tool, 'package.json'), JSON.stringify({ name: 'tool', private: true, dependencies: { polyvac: '' } }))
  await check('the command that writes templates installs', () => install(tool))
  const polyvac = (args, cwd) => run(process.execPath, [join(tool, 'node_modules', 'polyvac', 'dist', 'cli.js'), ...args], { cwd })

  for (const template of TEMPLATES) {
    const folder = join(temporary, `template-${template}`)
    await check(`polyvac init --template ${template}: installs, npm test passes, npm start answers`, async () => {
      await polyvac(['init', '--template', template, folder], temporary)
      for (const name of ['.gitignore', '.env.example', '.dockerignore']) assert.ok(existsSync(join(folder, name)), `${name} is missing`)
      await install(folder)
      assert.match(await run('npm', ['test'], { cwd: folder }), /pass 1\b/)
      await run('npm', ['run', '--silent', 'check'], { cwd: folder })
      const service = start('npm', ['start'], { cwd: folder, env: { PORT: '0' } })
      try {
        const url = await urlOf(service)
        // the templates agent and model use a model, which does not run here: agent answers from documents
        if (template === 'agent') assert.match((await ask(`${url}/vac/assistant`, 'How long does green tea brew?')).answer, /two minutes/)
        if (template === 'default') assert.match((await ask(`${url}/vac/docs`, 'How do I start?')).answer, /npm (?:start|install)/)
        if (template === 'ts') assert.match((await ask(`${url}/vac/assistant`, 'Is it on?')).answer, /Is it on\?/)
        const { vacs } = await (await fetch(`${url}/vac`)).json()
        assert.deepEqual(vacs.map(({ name }) => name).sort(), { default: ['docs'], agent: ['assistant'], model: ['assistant'], ts: ['assistant', 'docs'] }[template])
        return `end after ${await stop(service, { throughNpm: true })} ms`
      } finally {
        service.kill()
      }
    })
  }

  for (const [name, { type, compilerOptions }] of Object.entries(APPS)) {
    await check(`polyvac init in a Fastify app, ${name}: one plugin, which answers`, async () => {
      const folder = join(temporary, `app-${name.toLowerCase().replace(/\W+/g, '-')}`)
      await mkdir(folder)
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type, dependencies: { fastify: '^5.8.0' } }))
      if (compilerOptions !== undefined) {
        await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({
          compilerOptions: { target: 'es2023', strict: true, noUnusedLocals: true, skipLibCheck: true, types: [], outDir: 'dist', ...compilerOptions }, include: ['*.ts']
        }))
      }
      const before = await readdir(folder)
      const printed = await polyvac(['init'], folder)
      const plugin = compilerOptions === undefined ? 'agents.mjs' : 'agents.ts'
      assert.deepEqual((await readdir(folder)).sort(), [...before, plugin].sort())
      const [, names] = /^ +npm install (.+)$/m.exec(printed)
      await npm(['install', ...names.split(' ')], folder)
      await writeFile(join(folder, compilerOptions === undefined ? 'main.js' : 'main.ts'), mainOf(printed, type, compilerOptions))
      if (compilerOptions !== undefined) await run(process.execPath, [tsc, '-p', folder])
      // what a bundler resolves, Node.js runs as well here
      const out = await run(process.execPath, [join(folder, compilerOptions === undefined ? 'main.js' : join('dist', 'main.js'))], { cwd: folder })
      assert.equal(JSON.parse(out).answer, 'You asked: Is it on?')
    })
  }
}

/** An app with the lines that `polyvac init` printed. */
function mainOf (printed, type, compilerOptions) {
  const lines = printed.split('\n').filter(line => /^ {4}(?:import|await|app)\b/.test(line)).map(line => line.trim())
  const load = type === 'module' || compilerOptions !== undefined ? 'import Fastify from \'fastify\'' : 'const Fastify = require(\'fastify\')'
  const globals = compilerOptions === undefined ? '' : 'declare const console: { log (text: string): void }\n'
  const imports = lines.filter(line => line.startsWith('import '))
  const register = lines.filter(line => !line.startsWith('import '))
  return `${[load, ...imports].join('\n')}\n${globals}const app = Fastify()\n${register.join('\n')}
app.inject({ method: 'POST', url: '/agents/vac/assistant', payload: { user_input: 'Is it on?' } }).then(({ body }) => { console.log(body) })\n`
}
