import { parseConfig as parseVacs, type ConfigError, type ConfigOptions } from '@polyvac/core'
import fc from 'fast-check'
import { writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { test } from 'tap'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { createHost, parseConfig, readConfig, ServiceConfig, type HostConfig } from '../src/index.js'

const parse = (text: string, options: ConfigOptions = {}) => parseConfig(text, '/app/vac_config.yaml', { env: {}, ...options })
function problems (text: string, options: ConfigOptions = {}): string[] {
  try {
    parse(text, options)
    return []
  } catch (err) {
    return (err as ConfigError).problems.map(({ line, column, message, hint }) => `${line}:${column} ${message}${hint === undefined ? '' : ` | ${hint}`}`)
  }
}

const good = `kind: vacConfig
apiVersion: v1
service:
  stream_interpreter: documents
  enable_a2a_agent: \${A2A:-true}
  a2a_vac_names: null
  public_url: \${PUBLIC_URL:-}
  mcp_servers:
    - name: files
      command: npx
      args: ["-y", server]
vac:
  docs:
    display_name: Docs
    memory:
      - docs-folder: { vectorstore: folder, path: ./docs, k: 6 }
    chunker: { type: semantic }
`

test('a valid file is read: variables are replaced, unknown VAC keys are kept with a warning', async t => {
  const config = parse(good, { env: { PUBLIC_URL: 'https://example.org' } })
  t.equal(config.service.enable_a2a_agent, true, 'filled-in text becomes the boolean that is wanted')
  t.equal(config.service.public_url, 'https://example.org')
  t.strictSame(config.vac.docs?.chunker, { type: 'semantic' })
  t.match(config.warnings, [{ line: 17, column: 5, message: /unknown key "chunker" in vac\.docs/ }])
  t.strictSame(config.variables, ['A2A', 'PUBLIC_URL'])
  t.equal(config.folder, '/app')
})

test('unknown keys of a folder of documents are warnings, those of a module are its own, and tools have different names', t => {
  const of = (store: object): unknown => parse(JSON.stringify({ kind: 'vacConfig', vac: { a: { memory: [{ docs: store }] } } })).warnings.map(({ message, hint }) => [message, hint])
  t.strictSame(of({ vectorstore: 'folder', path: '.', pth: '.', 'x-own': 1 }), [['unknown key "pth" in vac.a.memory.0.docs, not read', 'did you mean "path"?']])
  t.strictSame(of({ vectorstore: 'folder', ignore: ['a'], extensions: ['.md'], embed: 'auto', index_file: ':memory:', k: 1, max_file_bytes: 1, max_files: 1, encoding: 'big5' }), [])
  t.strictSame(of({ vectorstore: './mine.mjs', anything: 1 }), [])
  t.strictSame(problems('kind: vacConfig\nvac:\n  a: { mcp_tool: ask }\n  b: { mcp_tool: ask }\n'), ['4:18 another VAC has a tool of this name'])
  t.match(problems('kind: vacConfig\nvac:\n  a: { mcp_tool: ask it }\n'), [/vac\.a\.mcp_tool: expected string to match/])
  t.end()
})

test('MCP servers can be given as the map that other tools use', async t => {
  const { service } = parse('kind: vacConfig\nservice:\n  mcp_servers:\n    time: { command: uvx, args: [time] }\nvac: { a: {} }\n')
  t.strictSame(service.mcp_servers, { time: { command: 'uvx', args: ['time'] } })
})

test('all problems are reported at once, each with its place and a suggestion', async t => {
  t.strictSame(problems(`kind: vacConfig
service:
  enable_a2a_agnet: true
  async_stream: maybe
  a2a_vac_names: [docs, other]
  a2a: { default_vac: dosc, grpc: { port: 99999 } }
  stream_interpreter: documnets
  mcp_servers: [{ name: x, comand: y }]
vac:
  docs:
    display_name: 7
    memory:
      - d: { vectorstore: lancedb }
`), [
    '3:3 unknown key "enable_a2a_agnet" in service | did you mean "enable_a2a_agent"?',
    '4:17 service.async_stream: expected boolean, got "maybe"',
    '5:25 there is no VAC "other"; known: docs',
    '6:23 there is no VAC "dosc"; known: docs | did you mean "docs"?',
    '6:43 service.a2a.grpc.port: expected integer to be less or equal to 65535, got 99999',
    '7:23 there is no built-in interpreter "documnets"; known: documents, agent, openai, echo; or give a module path, such as ./mine.mjs | did you mean "documents"?',
    '8:28 unknown key "comand" in service.mcp_servers.0 | did you mean "command"?',
    '11:19 vac.docs.display_name: expected string, got 7',
    '13:27 there is no built-in vectorstore "lancedb"; known: folder; or give a module path, such as ./mine.mjs'
  ])
})

test('a missing key is named, unless a mistyped one explains it', async t => {
  t.strictSame(problems('kind: vacConfig\nvacs: { a: {} }\n'), ['2:1 unknown key "vacs" in the file | did you mean "vac"?'])
  t.strictSame(problems('vac: { a: {} }\n'), ['1:1 the file has no "kind" | add "kind:"'])
  t.strictSame(problems('').map(text => text.replace(/^\d+:\d+ /, '')).sort(), ['the file has no "kind" | add "kind:"', 'the file has no "vac" | add a VAC under "vac:", MCP servers under "service.mcp_servers:", or agents under "service.a2a_agents:"'])
  t.strictSame(problems('kind: vacConfig\nvac: {}\n'), ['2:1 vac: there is no VAC | add a VAC under "vac:", MCP servers under "service.mcp_servers:", or agents under "service.a2a_agents:"'])
})

test('all problems of MCP servers are reported at once, each with its place and remedy', async t => {
  const yaml = `kind: vacConfig
service:
  mcp_servers:
    - { name: a, cmd: node }
    - { name: b, command: node server.js --fast }
    - { name: c, comand: x, args: "y" }
    - { name: b, url: "ftp://x" }
    - { command: ../x, timeout: -1 }
    - { name: d }
    - { name: e, command: x, url: "http://x" }
    - { name: f, command: "C:\\\\Program Files\\\\node.exe" }
    - { name: g, command: x, arguments: [y] }
`
  t.strictSame(problems(yaml), [
    '4:18 unknown key "cmd" in service.mcp_servers.0 | did you mean "command"?',
    '5:27 service.mcp_servers.1.command holds arguments | write command: node, args: [server.js, --fast]',
    '6:18 unknown key "comand" in service.mcp_servers.2 | did you mean "command"?',
    '6:35 service.mcp_servers.2.args: expected array, got "y"',
    '7:9 two MCP servers are named "b"',
    '7:23 service.mcp_servers.3.url: expected an http(s) address',
    '8:7 service.mcp_servers.4 has no "name" | add "name:"',
    '8:18 service.mcp_servers.4.command holds `..` | write its whole path',
    '8:33 service.mcp_servers.4.timeout: expected number to be greater than 0, got -1',
    '9:7 service.mcp_servers.5 has no "command" | add "command:", or "url:" for a server reached over HTTP',
    '10:35 service.mcp_servers.6 has a command and a url | keep one of the two',
    '12:30 unknown key "arguments" in service.mcp_servers.8 | did you mean "args"?'
  ])
})

test('files of MCP clients are gateways without VACs', async t => {
  for (const key of ['mcpServers', 'servers']) {
    const { service, vac, warnings } = parse(JSON.stringify({
      inputs: [], [key]: { a: { command: 'npx', args: ['x'], envFile: '.env' }, b: { serverUrl: 'http://127.0.0.1:1', type: 'http' }, c: { command: 'x', disabled: true } }
    }))
    t.strictSame(vac, {})
    t.strictSame(service.mcp_servers, { a: { command: 'npx', args: ['x'] }, b: { url: 'http://127.0.0.1:1', type: 'http' } })
    t.match(service, { enable_mcp_server: true, tasks: { store: 'memory' } })
    t.match(warnings, [{ line: 1, message: 'the key "envFile" of the MCP server "a" is not used' }])
  }
  t.strictSame(problems('{\n "mcpServers": {\n  "a": { "comand": "x" }\n }\n}'), [
    '3:10 unknown key "comand" in service.mcp_servers.a | did you mean "command"?'
  ])
})

test('comments and trailing commas of a JSON file are not read, and problems keep their places', t => {
  const read = (text: string): object => parseConfig(text, '/app/.vscode/mcp.json', { env: {} }).service.mcp_servers!
  t.strictSame(read('// of VS Code\n{\n  /* two\n lines */ "servers": { // here\n "a": { "command": "x", "args": ["http://a/b", "/* \\" // */"], }, },\n}\n'), { a: { command: 'x', args: ['http://a/b', '/* " // */'] } })
  t.throws(() => read('{ // c\n "servers": { /* d */ "a": { "comand": "x" } } }'), /mcp\.json:2:30 {2}unknown key "comand"/)
  t.end()
})

/* eslint-disable no-template-curly-in-string */
test('references in files of MCP clients are filled in from the environment, the inputs and the folder, or reported with the variable to set', async t => {
  const servers = {
    a: { command: 'node', args: ['${workspaceFolder}${pathSeparator}a.js', '--region=${env:REGION}', '$${env:REGION}'], env: { KEY: 'Bearer ${input:api-key}', LEVEL: '${input:level}' } },
    b: { url: 'https://${env:HOST}/mcp', headers: { authorization: 'Bearer ${input:api-key}', x: '${env:ABSENT}' } },
    c: { command: 'node', env: { X: '${input:never asked}' } }
  }
  const inputs = [{ id: 'api-key', type: 'promptString', password: true }, { id: 'level', type: 'pickString', options: ['info'], default: 'info' }]
  const env = { REGION: 'eu-central-1', HOST: 'mcp.example.com', INPUT_API_KEY: 'typed' }
  for (const [file, key] of [['/app/.vscode/mcp.json', 'servers'], ['/app/.cursor/mcp.json', 'mcpServers'], ['/app/mcp.json', 'mcpServers']] as const) {
    const { service, warnings, variables } = parseConfig(JSON.stringify({ inputs, [key]: servers }), file, { env })
    t.strictSame(service.mcp_servers, {
      a: { command: 'node', args: [`/app${sep}a.js`, '--region=eu-central-1', '${env:REGION}'], env: { KEY: 'Bearer typed', LEVEL: 'info' }, secret_env: ['INPUT_API_KEY'] },
      b: { url: 'https://mcp.example.com/mcp', headers: { authorization: 'Bearer typed', x: '${ABSENT}' }, secret_env: ['INPUT_API_KEY'] },
      c: { command: 'node', env: { X: '${INPUT_NEVER_ASKED}' } }
    })
    t.match(warnings.map(({ message }) => message), [
      'the environment variable ABSENT is not set; this MCP server is not started without it',
      '${input:never asked} is a question of an MCP client, and a service asks no person: the environment variable INPUT_NEVER_ASKED is not set; this MCP server is not started without it'
    ])
    t.strictSame([...variables].sort(), ['ABSENT', 'HOST', 'INPUT_API_KEY', 'INPUT_LEVEL', 'INPUT_NEVER_ASKED', 'REGION'])
  }
  const { service } = parseConfig('kind: vacConfig\nservice:\n  mcp_servers:\n    a: { command: node, env: { X: "${env:REGION}" } }\n', '/app/vac_config.yaml', { env })
  t.match(service.mcp_servers, { a: { env: { X: 'eu-central-1' } } }, 'the map of another tool within our own file')
  t.throws(() => parseConfig(JSON.stringify({ servers: { a: { command: 'x', args: ['${command:pick}'] } } }), '/app/mcp.json', { env }), /\$\{command:pick\} is filled in only by an MCP client; write/)
})
/* eslint-enable no-template-curly-in-string */

test('a mistyped key of a VAC is reported with the problems of the file', async t => {
  const err = await Promise.resolve().then(() => parse('kind: vacConfig\nvac:\n  a: { agnet: x, model: 7 }\n')).catch((err: Error) => err)
  t.match((err as Error).message, /model: expected string[^]*unknown key "agnet"[^]*did you mean "agent"/)
})

test('messages never contain values of environment variables', async t => {
  const env = { KEY: 'sk-secret' }
  // eslint-disable-next-line no-template-curly-in-string
  const found = problems('kind: vacConfig\nservice: { a2a_vac_names: ["${KEY}"], stream_interpreter: "${KEY}", public_url: "${KEY}", async_stream: "${KEY}" }\nvac:\n  a: { memory: [{ d: { vectorstore: folder, k: "${KEY}" } }] }\n', { env })
  t.equal(found.length, 5)
  t.notMatch(found.join(), /sk-secret/)
  t.match(found.join(), /the value of \$\{KEY\}/)
})

test('a file that is too large is refused before it is parsed', async t => {
  t.match(problems('x'.repeat(5 * 1024 * 1024)), [/larger than 4 MiB/])
})

test('a variable that YAML parses as a map is reported with its correct form', async t => {
  // eslint-disable-next-line no-template-curly-in-string
  t.match(problems('kind: vacConfig\nvac:\n  a: { model: ${MODEL} }\n')[0], /needs quotes/)
})

test('a code frame shows the line with a marker', async t => {
  const err = await Promise.resolve().then(() => parse('kind: vacConfig\nservice:\n  agnet: documents\nvac: { a: {} }\n')).catch((err: Error) => err)
  t.equal((err as Error).message, [
    '/app/vac_config.yaml:3:3  unknown key "agnet" in service',
    '    3 |   agnet: documents',
    `      |   ^^^^^ known: ${Object.keys(ServiceConfig.properties).join(', ')}`
  ].join('\n'))
})

test('invalid files are reported as problems with a place, never by another exception', async t => {
  for (const text of ['kind: [', 'a: 1\na: 2', '\t- x', '"', 'kind: vacConfig\nvac: 7', 'kind: vacConfig\nvac: {}', '[]', '7', 'null', '- a',
    'kind: other\nvac: { a: {} }', 'kind: vacConfig\nvac: { a: 1 }', 'kind: vacConfig\nvac: { a: null }', 'vac: *x', 'kind: vacConfig\n__proto__: 1\nvac: { a: {} }']) {
    const found = problems(text)
    t.ok(found.length > 0, `${JSON.stringify(text)} → ${found.join('; ')}`)
    t.notMatch(found.join(), /undefined|\[object/)
  }
  fc.assert(fc.property(fc.string({ maxLength: 60 }), text => { problems(text) }))
})

test('text of a variable becomes the number of the schema only where it is one', async t => {
  // eslint-disable-next-line no-template-curly-in-string
  const budget = 'kind: vacConfig\nservice: { memory_budget: "${N}" }\nvac: { a: {} }'
  t.equal(parse(budget, { env: { N: '100000000' } }).service?.memory_budget, 100_000_000)
  for (const N of ['100000000.5', '100000000e1', '100000000x']) t.throws(() => parse(budget, { env: { N } }), { message: /memory_budget/ }, N)
})

test('a file is checked in a thread with the same result', async t => {
  const file = join(await emptyFolder(t), 'vac_config.yaml')
  const both = async (text: string): Promise<unknown[]> => {
    await writeFile(file, text)
    return await Promise.all([true, false].map(async inThread => await readConfig(file, { env: {}, inThread }).catch((err: unknown) => err)))
  }
  const [config, alike] = await both(good)
  t.match(config, { service: { a2a_vac_names: null, mcp_servers: [{ name: 'files' }] } })
  t.same(config, alike)
  for (const wrong of ['a2a_vac_names: [no]', 'enable_mcp: true', 'mcp_servers: [{ name: a }]']) {
    const [inThread, inPlace] = await both(`kind: vacConfig\nservice: { ${wrong} }\nvac: { a: {} }\n`) as ConfigError[]
    t.equal(inThread!.code, 'CONFIG_INVALID', wrong)
    t.equal(inThread!.message, inPlace!.message, wrong)
  }
  const [inThread, inPlace] = await both(JSON.stringify({ mcpServers: { a: { command: 'x', envFile: 1 } } }))
  t.match(inThread, { service: { enable_mcp_server: true, mcp_servers: { a: { command: 'x' } } } })
  t.same(inThread, inPlace)
})

test('createHost refuses a configuration whose service is not checked', async t => {
  const text = 'kind: vacConfig\nservice: { stream_interpreter: echo, auth: { token: x } }\nvac: { a: {} }\n'
  const unchecked = parseVacs(text, '/app/vac_config.yaml') as unknown as HostConfig
  await t.rejects(createHost({ config: unchecked }), { code: 'HOST_OPTIONS', message: /config must be the path of a file, or what readConfig\(\) of @polyvac\/host returns/ })
  const checked = parseVacs(text.replace(', auth: { token: x }', ''), '/app/vac_config.yaml') as unknown as HostConfig
  const app = await createHost({ config: checked, tasks: { store: 'memory' }, server: { logger: false } })
  t.teardown(() => app.close())
  t.strictSame(app.polyvac.vacs.names, ['a'])
})
