import { test } from 'tap'
import { serverName } from '../src/command-config.js'
import { emptyFolder, polyvac, runPolyvac } from '../../../test/fixtures/command.js'

const MISSING = 'no-such-command-of-mine'

test('a command that does not exist ends polyvac, tools and call with an error that names it', async t => {
  const folder = await emptyFolder(t)
  const { out, ended } = polyvac(t, ['--', MISSING], folder)
  t.equal(await ended, 1)
  const errors = [out.stderr]
  for (const words of [['tools'], ['call', MISSING, 'echo']]) {
    const { code, stderr } = await runPolyvac([...words, '--', MISSING], folder)
    t.equal(code, 1, words.join(' '))
    errors.push(stderr)
  }
  for (const text of errors) t.match(text, /"no-such-command-of-mine\\?" is not on the search path/)
})

test('a server command that ends at once ends polyvac with its exit code', async t => {
  const { out, ended } = polyvac(t, ['--', process.execPath, '-e', 'process.exit(3)'], await emptyFolder(t))
  t.equal(await ended, 1)
  t.match(out.stderr, /cannot be used: it exited with code 3; check the command after `--`/)
})

/** An MCP server whose every text acts on a terminal. */
const HOSTILE = `
const odd = '\\u001b]0;owned\\u0007\\u009b2J\\u202e\\u0000\\u{E0041}end'
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const answer = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: odd, version: odd } },
    'tools/list': { tools: [{ name: 'say', description: odd, inputSchema: { type: 'object' } }, { name: 'x' + odd, inputSchema: { type: 'object' } }] },
    'tools/call': params?.name === 'say' && params.arguments.fail ? undefined : { content: [{ type: 'text', text: odd }] }
  }[method]
  if (id === undefined) return
  const said = answer === undefined ? { error: { code: -32000, message: odd } } : { result: answer }
  if (method === 'tools/call') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1, message: odd } }) + '\\n')
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...said }) + '\\n')
})`

test('control characters of an upstream do not reach the terminal', async t => {
  const folder = await emptyFolder(t)
  const server = serverName([process.execPath, '-e', HOSTILE])
  for (const words of [['tools'], ['tools', '--json'], ['call', server, 'say'], ['call', server, 'say', '{"fail":true}']]) {
    const { stdout, stderr } = await runPolyvac([...words, '--', process.execPath, '-e', HOSTILE], folder)
    const text = stdout + stderr
    t.match(text, /end|not visible/, words.join(' '))
    // eslint-disable-next-line no-control-regex
    t.notMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]|\u{E0041}/u, words.join(' '))
    if (words[0] === 'call' && stdout !== '') t.match(JSON.parse(stdout).content[0].text, '\u009b2J\u202e', 'the JSON is the same')
  }
})
