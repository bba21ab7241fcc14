import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { readArguments } from '../src/arguments.js'
import { createHost } from '@polyvac/host'
import { commandConfig, serverName } from '../src/command-config.js'
import { emptyFolder, json, polyvac, published, root, runPolyvac } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'

/** The tool `echo` of the server `everything`, by REST, in OpenAPI and over MCP. */
async function servesEcho (t: { ok: (value: unknown, message: string) => void, match: (value: unknown, wanted: object) => void }, url: string) {
  await until(async () => (await json(`${url}/mcp/servers`)).servers[0].state === 'ready', 'the server is ready')
  t.match(await json(`${url}/mcp/call`, { server: 'everything', tool: 'echo', arguments: { message: 'hi' } }), { result: { content: [{ text: 'Echo: hi' }] } })
  t.ok('/mcp/call' in (await json(`${url}/openapi.json`)).paths, 'OpenAPI has the route')
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  try {
    t.ok((await client.listTools()).tools.some(({ name }) => name === 'everything__echo'), '/mcp lists the tool')
    t.match(await client.callTool({ name: 'everything__echo', arguments: { message: 'hello' } }), { content: [{ text: 'Echo: hello' }] })
  } finally {
    await client.close()
  }
}

test('polyvac -- <command> serves the tools of that MCP server over REST, OpenAPI and /mcp', async t => {
  // in a folder with a configuration, which is not read; npx finds the installed package there
  const { child, out, ended, url } = polyvac(t, ['--', 'npx', '-y', '@modelcontextprotocol/server-everything'], root)
  await servesEcho(t, await url())
  t.notMatch(out.stdout, /vac_config|\/vac\//, 'the banner has no VAC')
  await until(() => /server {3}everything {2}\(is ready\)/.test(out.stdout), 'a server that starts after the banner is reported')
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

test('the configuration file of an MCP client is a configuration, and its folder gets no files', async t => {
  const folder = await emptyFolder(t)
  const [command, ...args] = published('everything')
  await writeFile(join(folder, 'claude_desktop_config.json'), JSON.stringify({
    globalShortcut: 'Ctrl+Space',
    mcpServers: { everything: { command, args, autoApprove: [] }, off: { command: 'nowhere', disabled: true } }
  }, null, '\t'))
  const { child, out, ended, url } = polyvac(t, ['./claude_desktop_config.json'], folder)
  await servesEcho(t, await url())
  t.match(out.stderr, /the key \\"autoApprove\\" of the MCP server \\"everything\\" is not used/)
  t.strictSame((await json(`${await url()}/mcp/servers`)).servers.map(({ name }: { name: string }) => name), ['everything'])
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.strictSame(await readdir(folder), ['claude_desktop_config.json'])
})

test('a configuration with MCP servers needs no VAC', async t => {
  const folder = await emptyFolder(t)
  const [command, ...args] = published('everything')
  const servers = JSON.stringify({ everything: { command, args, inherit_env: [] } })
  for (const vac of ['', 'vac: {}\n']) {
    await writeFile(join(folder, 'vac_config.yaml'), `kind: vacConfig\n${vac}service: { enable_a2a_agent: true, mcp_servers: ${servers} }\n`)
    const check = await runPolyvac(['check'], folder)
    t.equal(check.code, 0, check.stderr)
    t.match(check.stdout, /: good; 1 MCP server: everything\nMCP servers are not started by this command: `polyvac tools` starts them, and lists their tools or names what fails\n$/)
  }
  const tools = await runPolyvac(['tools'], folder)
  t.equal(tools.code, 0)
  t.match(tools.stdout, /everything echo/)
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), tasks: { store: 'memory' }, server: { logger: false } })
  t.teardown(() => app.close())
  t.strictSame((await app.inject('/vac')).json(), { vacs: [] })
  t.match((await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: 'x' } })).json(), { error: { code: 'VAC_NOT_FOUND', message: /none is configured/ } })
})

test('tools, call and mcp take the command of a server too, and ask and init do not', async t => {
  const folder = await emptyFolder(t)
  const call = await runPolyvac(['call', 'everything', 'echo', '{"message":"once"}', '--', 'npx', '-y', '@modelcontextprotocol/server-everything'], root)
  t.equal(call.code, 0, call.stderr)
  t.match(JSON.parse(call.stdout), { content: [{ text: 'Echo: once' }] })
  const wrong: Array<[string[], RegExp]> = [
    [['--'], /no command after --; polyvac -- npx/],
    [['ask', 'x', '--', 'npx', 'y'], /polyvac ask does not take the command of an MCP server/],
    [['-c', 'x.yaml', '--', 'npx', 'y'], /exclude each other/],
    [['./docs', '--', 'npx', 'y'], /one word too many/]
  ]
  for (const [args, message] of wrong) {
    const { code, stderr } = await runPolyvac(args, folder)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
  }
})

test('polyvac call waits for a server that starts slowly, as npx does while it installs one', async t => {
  const [node, script] = published('everything')
  const slow = `setTimeout(() => import(${JSON.stringify(script)}), 11_000)`
  const command = [node, '-e', slow] as const
  const call = await runPolyvac(['call', serverName(command), 'echo', '{"message":"late"}', '--', ...command], root)
  t.equal(call.code, 0, call.stderr)
  t.match(JSON.parse(call.stdout), { content: [{ text: 'Echo: late' }] })
})

test('options after -- belong to the server, and $ in them stays', async t => {
  const { serverCommand, port } = readArguments(['-p', '7', '--', 'npx', '-p', '9', '$HOME ${x}'], {}) // eslint-disable-line no-template-curly-in-string
  t.equal(port, 7)
  t.strictSame(serverCommand, ['npx', '-p', '9', '$HOME ${x}']) // eslint-disable-line no-template-curly-in-string
  t.match(commandConfig(serverCommand!).service.mcp_servers, [{ command: 'npx', args: ['-p', '9', '$HOME ${x}'] }]) // eslint-disable-line no-template-curly-in-string
})

test('the name of a server is the part of its command that names it', t => {
  for (const [command, name] of [
    ['npx -y @modelcontextprotocol/server-everything', 'everything'], ['npx -y @modelcontextprotocol/server-filesystem@2026.1.1 .', 'filesystem'],
    ['uvx mcp-server-time --local-timezone=UTC', 'time'], ['node ./weather/dist/index.js', 'weather'], ['docker run -i --rm mcp/fetch', 'fetch'],
    ['node server.js', 'server'], ['./my-server', 'my'], ['python -m github_mcp', 'github_mcp'], ['C:\\tools\\notes.exe', 'notes']
  ] as const) t.equal(serverName(command.split(' ')), name, command)
  t.end()
})
