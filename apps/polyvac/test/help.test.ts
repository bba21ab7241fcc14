import { test } from 'tap'
import { createHost } from '@polyvac/host'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readArguments } from '../src/arguments.js'
import { banner } from '../src/banner.js'
import { COMMAND_HELP, COMMANDS } from '../src/commands.js'
import { helpOf } from '../src/help.js'
import { folderConfig } from '../src/load-config.js'
import { OPTIONS } from '../src/options.js'
import { ProgressBar } from '../src/progress-bar.js'
import { withVacs } from '../src/commands/with-vacs.js'
import { emptyFolder, root, runPolyvac } from '../../../test/fixtures/command.js'
import { embeddingServer } from '../../../test/fixtures/embedding-server.js'

test('each command has help with its usage, its options and an example that its arguments take', async t => {
  for (const name of COMMANDS) {
    const { usage, options, example } = COMMAND_HELP[name]
    const { code, stdout } = await runPolyvac([name, '--help'], root)
    t.equal(code, 0)
    t.equal(stdout, (await runPolyvac(['help', name], root)).stdout, 'in both ways to ask for it')
    for (const text of [...usage.map(line => `polyvac ${line}\n`), ...options.map(option => `--${option}`), `For example: ${example}\n`]) t.ok(stdout.includes(text), text)
    const words = [...example.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, ...forms]) => forms.find(form => form !== undefined)!).slice(1)
    t.match(readArguments(words.filter(word => word !== '>'), {}, root), { command: name }, example)
    t.ok(helpOf().includes(usage[0]!), 'the whole help has it too')
  }
  for (const option of Object.keys(OPTIONS)) {
    t.ok(option === 'help' || option === 'version' || COMMANDS.some(name => (COMMAND_HELP[name].options as readonly string[]).includes(option)), `a command has --${option}`)
  }
  for (const line of [helpOf(), ...COMMANDS.map(helpOf)].join('').split('\n')) t.ok(line.length <= 132, line)
})

test('help about another word names the nearest; with a wrong option the help is still printed', async t => {
  t.match(await runPolyvac(['help', 'aks'], root), { code: 2, stderr: /"aks" is not a command; did you mean `polyvac help ask`/ })
  t.match(await runPolyvac(['help', 'weather'], root), { code: 2, stderr: /"weather" is not a command; see/ })
  t.match(await runPolyvac(['help', 'help'], root), { code: 0, stdout: /polyvac \[start\]/ })
  t.match(await runPolyvac(['token', 'a', 'b', '--help'], root), { code: 0, stdout: /^polyvac token owner/ })
  t.match(await runPolyvac(['./docs', '--help'], root), { code: 0, stdout: /polyvac ask/ })
})

test('an option with a typing error is refused with the nearest', async t => {
  for (const [given, meant] of [['--prot', 'port'], ['--prot=80', 'port'], ['--jsn', 'json'], ['--publicUrl', 'public-url'], ['--log_level', 'log-level'],
    ['--allow', 'allow-unauthenticated'], ['--Watch', 'watch'], ['--temp', 'template']] as const) {
    t.match(await runPolyvac(['start', given], root), { code: 2, stderr: new RegExp(`Unknown option '${given.split('=')[0]}'; did you mean \`--${meant}\``) })
  }
  for (const given of ['--nonsense', '-x', '--p']) t.match(await runPolyvac(['start', given], root), { code: 2, stderr: new RegExp(`Unknown option '${given}'; see`) })
})

test('a first word is a folder where it names one and no configuration has VACs', async t => {
  const cwd = await emptyFolder(t)
  await mkdir(join(cwd, 'docs'))
  await mkdir(join(cwd, 'VAC and folder'))
  await writeFile(join(cwd, 'notes'), 'a file')
  const read = (...argv: string[]) => readArguments(argv, {}, cwd)
  t.match(read('ask', './docs'), { target: './docs', words: [] }, 'a path that exists is no question')
  t.match(read('ask', './nowhere'), { target: undefined, words: ['./nowhere'] })
  t.match(read('ask', 'and/or'), { target: undefined, words: ['and/or'] })
  t.match(read('ask', 'docs', 'How?'), { target: 'docs', words: ['How?'] })
  t.match(read('ask', 'docs'), { target: 'docs', words: [] })
  t.match(read('ask', 'VAC and folder', 'How?'), { target: 'VAC and folder' })
  t.match(read('ask', 'notes', 'How?'), { target: undefined, words: ['notes', 'How?'] })
  t.match(read('chat', 'docs'), { target: 'docs' })
  t.match(read('chat', 'docs', '--url', 'http://127.0.0.1:1'), { target: undefined, words: ['docs'] }, 'a VAC of the service')
  t.match(read('doctor', 'docs'), { target: 'docs' })
  t.match(read('replay', 'docs'), { target: undefined, words: ['docs'] }, 'the session')
  t.match(read('token', 'docs', 'vac:docs'), { target: undefined, words: ['docs', 'vac:docs'] })
  t.match(read('ask', '--config', 'x.yaml', 'docs', 'How?'), { target: undefined, words: ['docs', 'How?'] })
  await writeFile(join(cwd, 'vac_config.yaml'), 'kind: vacConfig\nvac: { docs: {} }\n')
  t.match(read('ask', 'docs', 'How?'), { target: undefined, words: ['docs', 'How?'] }, 'a VAC of the configuration')
})

test('ask takes a folder by its name, and --fail ends with 1 where the documents do not answer', async t => {
  const cwd = await emptyFolder(t)
  await mkdir(join(cwd, 'docs'))
  await writeFile(join(cwd, 'docs', 'tea.md'), '# Tea\n\n## How long does tea brew?\n\nGreen tea brews for two minutes.\n')
  t.match(await runPolyvac(['ask', 'docs', 'How long does tea brew?', '--fail'], cwd), { code: 0, stdout: /two minutes/ })
  t.match(await runPolyvac(['ask', './docs', 'Who painted the chapel?'], cwd), { code: 0, stdout: /do not answer/ })
  t.match(await runPolyvac(['ask', './docs', 'Who painted the chapel?', '--fail'], cwd), { code: 1, stdout: /do not answer/ })
  t.match(await runPolyvac(['ask', './docs', 'Who painted the chapel?', '--fail', '--json'], cwd), { code: 1, stdout: /"answered": false/ })
  t.match(await runPolyvac(['ask', './docs'], cwd), { code: 2, stderr: /needs a question/ }, 'without a terminal')
})

test('the progress bar draws only while a command waits for documents', async t => {
  const cwd = await emptyFolder(t)
  await writeFile(join(cwd, 'tea.md'), '# Tea\n\nGreen tea brews for two minutes.\n')
  const { show } = ProgressBar.prototype
  let shown = 0
  ProgressBar.prototype.show = () => { shown++ }
  t.teardown(() => { ProgressBar.prototype.show = show })
  const io = Object.assign(Object.create(process), { cwd: () => cwd, env: {} }) as typeof process
  await withVacs(readArguments(['chat', cwd], {}, cwd), io, async ({ vacs, ready }) => {
    // the prompt of the choice of a VAC stands here while its folder is indexed
    await vacs.get(vacs.names[0]!).ask({ question: 'How long does tea brew?' })
    t.equal(shown, 0)
    await ready(vacs.names[0]!)
  })
})

test('ask prints in one line which model server failed, and with what message, without keys', async t => {
  const server = createServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: `model "qwen3" not found,\ntry pulling it first; key sk-secret-1 ${'x'.repeat(500)}` } }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cwd = await emptyFolder(t)
  await mkdir(join(cwd, 'docs'))
  await writeFile(join(cwd, 'docs', 'tea.md'), '# Tea\n\n## How long does tea brew?\n\nGreen tea brews for two minutes.\n')
  const ask = async (port: number) => {
    await writeFile(join(cwd, 'vac_config.yaml'), `kind: vacConfig\nvac:\n  tea: { model: qwen3, interpreter: documents, openai: { base_url: "http://127.0.0.1:${port}/v1" }, memory: [{ d: { vectorstore: folder, path: ./docs } }] }\n`)
    return await runPolyvac(['ask', 'How long does tea brew?'], cwd)
  }
  const { code, stdout, stderr } = await ask(port)
  t.match({ code, stdout }, { code: 0, stdout: /two minutes/ })
  t.match(stderr, new RegExp(`^the language model was not used: http://127.0.0.1:${port}: HTTP 404: model "qwen3" not found, try pulling it first; key \\[redacted\\] x{1,200}.*\n$`))
  t.notMatch(stderr, /secret|x{200}/)
  t.match(await ask(1), { code: 0, stdout: /two minutes/, stderr: /^the language model was not used: http:\/\/127\.0\.0\.1:1: the server cannot be reached.*\n$/ })
})

test('ask waits for the vectors of a small folder, and not for a server that is down', async t => {
  const server = await embeddingServer(t)
  const cwd = await emptyFolder(t)
  await mkdir(join(cwd, 'docs'))
  await writeFile(join(cwd, 'docs', 'harbour.md'), '# Harbour\n\n## The berth\n\nA berth is twelve guilders for a night.\n\n## Bread\n\nThe baker has rye loaves in the morning.\n')
  await writeFile(join(cwd, 'vac_config.yaml'), `kind: vacConfig\nvac:\n  h: { interpreter: documents, openai: { base_url: "${server.url}" }, memory: [{ d: { vectorstore: folder, path: ./docs, embed: nomic, index_file: ":memory:" } }] }\n`)
  const asked = await runPolyvac(['ask', 'What does a berth cost for a night?'], cwd)
  t.match(asked, { code: 0, stdout: /twelve guilders/, stderr: '' })
  t.ok(server.texts().some(text => text.includes('rye loaves')), 'the passages have vectors')
  server.state = 'down'
  t.match(await runPolyvac(['ask', 'What does a berth cost for a night?'], cwd), { code: 0, stdout: /twelve guilders/ })
})

test('the question in the banner and on the page is one that the folder answers', async t => {
  for (const [name, text, question] of [
    ['question.md', '# Tea\n\nAll about tea.\n\n## How long does tea brew?\n\nGreen tea brews for two minutes.\n', 'How long does tea brew?'],
    ['heading.md', '# Opening hours of the sauna\n\nThe sauna opens at nine.\n', 'What should I know about opening hours of the sauna?'],
    ['quotes.md', '# What does "it\'s $HOME" mean?\n\nThe variable HOME means the folder of the user.\n', 'What does "it\'s $HOME" mean?'],
    ['deutsch.md', '# Wann öffnet die Sauna?\n\nDie Sauna öffnet um neun Uhr.\n', 'Wann öffnet die Sauna?'],
    ['plain.txt', 'Green tea brews for two minutes.\n', undefined]
  ] as const) {
    const cwd = await emptyFolder(t)
    await writeFile(join(cwd, name), text)
    const config = folderConfig(cwd, {})
    const app = await createHost({ config, watchDocuments: false, tasks: { store: 'memory' }, server: { logger: false } })
    t.teardown(() => app.close())
    const { assembly, vacs } = app.polyvac
    const [vac] = vacs.names
    await Promise.all(assembly.folders.get(vac!)!.map(async folder => await folder.ready))
    const shown = await banner(app, config, 'http://host')
    const line = shown.split('\n').find(line => line.startsWith('  ask '))!
    const body = execFileSync('sh', ['-c', `printf %s ${line.slice(line.indexOf('-d ') + 3)}`], { encoding: 'utf8' })
    const { user_input: asked } = JSON.parse(body) as { user_input: string }
    t.equal(asked, question ?? 'What can you do?', name)
    if (question !== undefined) t.match(await vacs.get(vac!).ask({ question: asked }), { metadata: { answered: true } }, name)
    const page = (await app.inject({ url: '/', headers: { accept: 'text/html', host: 'host' } })).body
    t.ok(page.replace(/&#39;/g, "'").replace(/&quot;/g, '"').includes(line.slice(line.indexOf('-d '))), 'the page has the same')
  }
})

test('the reference has the options of each command', async t => {
  const page = await readFile(join(root, 'docs/reference/cli.md'), 'utf8')
  for (const name of COMMANDS) t.ok(page.includes(`| \`${name}\` |`), name)
})
