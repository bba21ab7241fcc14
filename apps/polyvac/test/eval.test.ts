import { defineTools, type InterpreterExtra } from '@polyvac/core'
import { test } from 'tap'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyFolder, root, runPolyvac } from '../../../test/fixtures/command.js'
import { fakeModel } from '../../../packages/agent/test/fixtures/model.js'
import { createHost, parseConfig } from '@polyvac/host'
import { MAX_EVAL_BYTES, MAX_EVAL_CASES } from '../src/eval/eval-file.js'
import { problemsOf } from '../src/eval/evaluate.js'
import { junitOf } from '../src/eval/junit.js'

type Test = Parameters<typeof emptyFolder>[0]

const TEA = { page_content: 'Four minutes.', metadata: { source: 'docs/tea.md' } }

/** A service whose VAC calls the tool `brew` of `kitchen` and cites a document, unless it is asked about coffee. */
async function service (t: Test): Promise<string> {
  const app = await createHost({
    config: parseConfig('kind: vacConfig\nvac: { tea: { display_name: Tea } }\n', 'vac_config.yaml'),
    async * stream_interpreter (question: string, _name: string, _history: unknown, { signal }: InterpreterExtra) {
      signal.throwIfAborted()
      if (question.includes('fail')) throw Object.assign(new Error('the kettle is broken'), { code: 'KETTLE', statusCode: 502, expose: true })
      if (question.includes('coffee')) return yield { answer: 'Nobody knows.', source_documents: [] }
      if (question.includes('Which')) return yield { input_required: 'Which cup?' }
      yield { tool_call: { id: '1', name: 'brew', server: 'kitchen', input: {} } }
      yield { tool_result: { id: '1', output: 'done' } }
      yield { answer: '{"minutes": 4}', source_documents: [TEA] }
    },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    server: { logger: false, forceCloseConnections: true }
  })
  t.teardown(() => app.close())
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

test('the documentation of this repository answers what its evaluation asks', async t => {
  t.match(await runPolyvac(['eval', 'test/documentation-evaluation.yaml'], root), { code: 0, stdout: /^passed {3}[^]*\n12 passed, 0 failed\n$/, stderr: '' })
})

test('eval asks over each protocol, and each expectation may fail', async t => {
  const url = await service(t)
  const cwd = await emptyFolder(t)
  const run = async (text: string, ...args: string[]) => {
    await writeFile(join(cwd, 'cases.yaml'), text)
    return await runPolyvac(['eval', 'cases.yaml', '--url', url, ...args], cwd)
  }
  const cases = `
  - { question: "How long?", expect: { contains: [Minutes, "4"], cites: tea.md, refuses: false, CALLS schema: { type: object, required: [minutes] } } }
  - { question: "And coffee?", expect: { refuses: true, contains: nobody knows } }
  - { question: "Which one?", expect: { contains: "Which cup?" } }
`
  for (const protocol of ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp']) {
    const calls = protocol === 'openai' || protocol === 'responses' ? '' : 'calls: [kitchen__brew],'
    const { stdout, code } = await run(`vac: tea\nprotocol: ${protocol}\ncases:${cases.replace('CALLS', calls)}`)
    t.match({ code, stdout }, { code: 0, stdout: /3 passed, 0 failed/ }, protocol)
  }
  const wrong = `vac: tea
cases:
  - { question: "How long?", expect: { contains: five, cites: coffee.md, refuses: true, calls: [], schema: { type: object, required: [hours] } } }
  - { question: "And coffee?", expect: { refuses: false, calls: [brew], schema: {} } }
  - { question: "fail\\u0007 <now>", expect: { contains: x } }
`
  const { code, stdout } = await run(wrong, '--json', '--junit', 'out.xml')
  t.equal(code, 1)
  const results = stdout.trim().split('\n').map(line => JSON.parse(line))
  t.match(results, [
    { result: 'failed', problems: [/^contains: "five" is not in/, /^cites: coffee.md is not cited; the answer cites docs\/tea.md/, /^refuses: the answer cites docs\/tea.md/, /^calls: none expected; called: kitchen__brew/, /^schema: answer/] },
    { result: 'failed', problems: [/^refuses: the answer cites nothing/, /^calls: brew expected; called: none/, /^schema: the answer is not JSON/] },
    { result: 'error', problems: [/the kettle is broken/] }
  ])
  const xml = await readFile(join(cwd, 'out.xml'), 'utf8')
  t.match(xml, /<testsuites tests="3" failures="2" errors="1" time="[\d.]+">/)
  t.match(xml, /<testcase classname="tea" name="fail &lt;now&gt;" time="[\d.]+">\n {6}<error message="[^"<>]*the kettle is broken[^"<>]*">/)
  t.match(await run('vac: coffee\ncases: [{ question: "x?", expect: { contains: x } }]\n'), { code: 1, stdout: /^error .*\n.*coffee/ }, 'a VAC that is not there')
})

test('a call that waits for an approval counts, over each protocol', async t => {
  const calls: unknown[] = []
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' }, handler: () => { calls.push(name); return '' } })
  const app = await createHost({
    config: parseConfig('kind: vacConfig\nvac: { tidy: { approve: [destructive] } }\n', 'vac_config.yaml'),
    async * stream_interpreter (question: string, _name: string, _history: unknown, { tools }: InterpreterExtra) {
      yield 'One moment.\n\nMay the tool "look" be called with this input?\n\n'
      if (question !== 'Only talk') await tools[0]!.call({ path: question })
      yield 'Done. (approval 0123456789012345678901)'
    },
    tools: defineTools([tool('delete_file')]),
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    server: { logger: false, forceCloseConnections: true }
  })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const cwd = await emptyFolder(t)
  for (const protocol of ['direct', 'ai_sdk', 'ag_ui', 'a2a', 'mcp']) {
    await writeFile(join(cwd, 'cases.yaml'), `vac: tidy\nprotocol: ${protocol}\ncases:\n  - { question: old.txt, expect: { calls: [delete_file] } }\n  - { question: Only talk, expect: { calls: [] } }\n`)
    t.match(await runPolyvac(['eval', 'cases.yaml', '--url', url], cwd), { code: 0, stdout: /2 passed, 0 failed/ }, protocol)
  }
  t.strictSame(calls, [], 'none was called')
})

test('a VAC that is not there, and a service that is not, are named with the remedy', async t => {
  const url = await service(t)
  const cwd = await emptyFolder(t)
  const closed = await createHost({ vacs: ['tee'], stream_interpreter: 'echo', server: { logger: false } })
  const gone = await closed.listen({ host: '127.0.0.1', port: 0 })
  await closed.close()
  const run = async (protocol: string, address: string) => {
    await writeFile(join(cwd, 'cases.yaml'), `vac: tee\nprotocol: ${protocol}\ncases: [{ question: "x?", expect: { contains: x } }]\n`)
    return await runPolyvac(['eval', 'cases.yaml', '--url', address], cwd)
  }
  for (const protocol of ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp']) {
    t.match(await run(protocol, url), { code: 1, stdout: /"(?:vac_stream_)?tee".*did you mean "(?:vac_stream_)?tea"\?/ }, protocol)
    const { code, stdout } = await run(protocol, gone)
    t.equal(code, 1)
    t.match(stdout, /no service answers at http:\/\/127\.0\.0\.1:\d+\/: connect ECONNREFUSED 127\.0\.0\.1:\d+; start it with `polyvac start`, or name another one with --url/, protocol)
    t.notMatch(stdout, /CORS/)
  }
})

test('a model judges an answer with yes or no', async t => {
  const url = await service(t)
  const cwd = await emptyFolder(t)
  await writeFile(join(cwd, 'cases.yaml'), 'vac: tea\nmodel: fake\ncases: [{ question: "How long?", expect: { judge: "Does it name a time?" } }]\n')
  const { env } = process
  const before = { ...env }
  t.teardown(() => { for (const name of ['OPENAI_BASE_URL']) if (before[name] === undefined) delete env[name]; else env[name] = before[name] })
  for (const [says, code, out] of [['Yes.', 0, /1 passed/], ['**no**, it does not', 1, /judge: no, to "Does it name a time\?" about/], ['Perhaps', 1, /judge: neither yes nor no, but "Perhaps"/]] as const) {
    const model = await fakeModel(t, [{ says }])
    env.OPENAI_BASE_URL = model.url
    t.match(await runPolyvac(['eval', 'cases.yaml', '--url', url], cwd), { code, stdout: out }, says)
    t.match(model.requests[0]!.messages.at(-1)!.content, /The question was "How long\?"[^]*"{\\"minutes\\": 4}"\n\nDoes it name a time\?$/)
  }
  env.OPENAI_BASE_URL = 'http://127.0.0.1:1/v1'
  t.match(await runPolyvac(['eval', 'cases.yaml', '--url', url], cwd), { code: 1, stdout: /^error .*\n.*http:\/\/127\.0\.0\.1:1\/v1/ })
})

test('a file with mistakes names each with its line, before anything is asked', async t => {
  const cwd = await emptyFolder(t)
  const check = async (text: string): Promise<string> => {
    await writeFile(join(cwd, 'cases.yaml'), text)
    const { code, stderr } = await runPolyvac(['eval', 'cases.yaml', '--url', 'http://127.0.0.1:1'], cwd)
    t.equal(code, 1)
    return stderr
  }
  const text = await check('vac: tea\nproto: direct\ncases:\n  - question: A?\n    expect: { contain: x }\n  - question: B?\n    expect: {}\n  - expect: { judge: x }\n')
  t.match(text, /cases\.yaml:2:1 {2}unknown key "proto" in the file[^]*cases\.yaml:5:15 {2}unknown key "contain" in cases\.0\.expect[^]*did you mean "contains"\?[^]*cases\.yaml:7:13[^]*cases\.yaml:8:5 {2}cases\.2 has no "question"/)
  t.match(await check('vac: tea\nprotocol: carrier pigeon\ncases: [{ question: A?, expect: { contains: x } }]\n'), /cases\.yaml:2:11 {2}protocol: expected one of direct, openai/)
  t.match(await check('vac: tea\nprotocol: openai\ncases: [{ question: A?, expect: { calls: [x] } }]\n'), /cases\.0 expects `calls`, and the protocol openai has no calls/)
  t.match(await check(`vac: tea\ncases:\n${'  - { question: A?, expect: { contains: x } }\n'.repeat(MAX_EVAL_CASES + 1)}`), /cases\.yaml:3:3 {2}cases: expected array length to be less or equal to 1000/)
  t.match(await check(`vac: tea\ncases: [{ question: A?, expect: { contains: x } }] # ${'x'.repeat(MAX_EVAL_BYTES)}`), /cannot be read: the file is larger than 1048576 bytes/)
  t.match(await runPolyvac(['eval', 'none.yaml'], cwd), { code: 1, stderr: /none\.yaml {2}there is no such file/ })
  t.match(await runPolyvac(['eval'], cwd), { code: 2, stderr: /name the file with the cases/ })
})

test('tools are compared in their order, and XML takes any text', t => {
  const reply = { answer: '', sources: [], calls: ['a__one', 'two', 'three'] }
  for (const [calls, count] of [[['one', 'three'], 0], [['three', 'two'], 1], [['a__one'], 0], [['ne'], 1]] as const) {
    t.equal(problemsOf(reply, { calls: [...calls] }).length, count, calls.join())
  }
  const xml = junitOf('a"b.yaml', 'v&w', [{ question: 'x\ud800\u0000\ufffe 🍵\n"y"', result: 'failed', problems: [']]> \u001b[2J'], ms: 12 }])
  t.match(xml, 'name="x 🍵&#10;&quot;y&quot;"')
  t.match(xml, ']]&gt; [2J</failure>')
  for (const character of ['\u0000', '\u001b', '\ud800', '\ufffe']) t.notOk(xml.includes(character), JSON.stringify(character))
  t.end()
})
