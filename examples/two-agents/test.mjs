// Starts both agents, asks the writer, and checks its output.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const server = start(['server.mjs'], { PORT: '0' })
try {
  const url = await addressOf(server)
  const client = start(['client.mjs', url])
  let said = ''
  client.stdout.on('data', piece => { said += piece })
  const [code] = await once(client, 'close')
  assert.equal(code, 0, said)
  assert.equal(said, 'The books say: Green tea is brewed for two minutes.\n')

  const { skills, supportedInterfaces } = await (await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '1.0' } })).json()
  assert.equal(skills[0].id, 'vac_query_writer')
  assert.equal(supportedInterfaces[0].url, `${url}/a2a`)

  server.kill('SIGTERM')
  const [ended] = await once(server, 'exit')
  assert.equal(ended, 0)
  process.stdout.write('two-agents: all as expected\n')
} finally {
  server.kill()
}

function start (args, env) {
  const child = spawn(process.execPath, args, { cwd: import.meta.dirname, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.setEncoding('utf8')
  return child
}

async function addressOf ({ stdout }) {
  let text = ''
  for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
    text += piece
    const [, address] = /listening on (\S+)/.exec(text) ?? []
    if (address !== undefined) { stdout.resume(); return address }
  }
  throw new Error(`the server did not start: ${text}`)
}
