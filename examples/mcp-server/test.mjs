// Starts the server over HTTP and over stdio, and calls its tools in both eras of the protocol.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const server = spawn(process.execPath, ['server.js'], { cwd: import.meta.dirname, env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'ignore'] })
try {
  const url = new URL(`${await addressOf(server)}/mcp`)
  for (const mode of ['legacy', 'auto']) {
    await use(mode, new StreamableHTTPClientTransport(url))
    await use(mode, new StdioClientTransport({ command: process.execPath, args: ['server.js', '--stdio'], cwd: import.meta.dirname, stderr: 'ignore' }))
  }
  server.kill('SIGTERM')
  const [code] = await once(server, 'exit')
  assert.equal(code, 0)
  process.stdout.write('mcp-server: all as expected\n')
} finally {
  server.kill()
}

async function use (mode, transport) {
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} }, versionNegotiation: { mode } })
  const asked = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message)
    return { action: 'accept', content: { packets: 3 } }
  })
  await client.connect(transport)
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), mode === 'auto' ? '2026-07-28' : '2025-11-25')
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map(({ name }) => name), ['in_stock', 'brew', 'order'])

    const { structuredContent } = await client.callTool({ name: 'in_stock', arguments: { tea: 'green tea' } })
    assert.deepEqual(structuredContent, { tea: 'green tea', packets: 12 })

    const mistake = await client.callTool({ name: 'in_stock', arguments: { tea: 'coffee' } })
    assert.ok(mistake.isError)
    assert.match(mistake.content[0].text, /there is green tea, black tea/)
    assert.ok((await client.callTool({ name: 'brew', arguments: { tea: 'green tea', minutes: 9 } })).isError)

    const minutes = []
    const pot = await client.callTool({ name: 'brew', arguments: { tea: 'green tea', minutes: 3 } }, { onprogress: ({ progress }) => { minutes.push(progress) } })
    assert.equal(pot.content[0].text, 'A pot of green tea is ready.')
    assert.deepEqual(minutes.slice(0, 2), [1, 2])

    const ordered = await client.callTool({ name: 'order', arguments: { tea: 'green tea' } })
    assert.equal(ordered.content[0].text, 'Ordered 3 packets of green tea.')
    assert.deepEqual(asked, ['Order green tea?'])
  } finally {
    await client.close()
  }
}

async function addressOf ({ stdout }) {
  let text = ''
  for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
    text += piece
    const [, address] = /listening on (http\S+)/.exec(text) ?? []
    if (address !== undefined) { stdout.resume(); return address }
  }
  throw new Error(`the server did not start: ${text}`)
}
