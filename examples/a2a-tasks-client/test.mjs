// Starts the server, runs the client against it, and checks its output.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const STORY = 'Once Ada went into the wood and was never bored again.'

const server = start(['server.mjs'], { PORT: '0' })
try {
  const url = await addressOf(server)
  const client = start(['client.mjs', url])
  let said = ''
  client.stdout.on('data', piece => { said += piece })
  const [code] = await once(client, 'close')
  assert.equal(code, 0, said)
  const [card, query, cut, resumed, ...rest] = said.trim().split('\n')
  assert.equal(card, 'card: Story writer: vac_query_stories, vac_stream_stories')
  assert.equal(query, `query: completed | ${STORY}`)
  // how many words one update holds depends on how busy the machine is
  assert.match(cut, /^cut: Once Ada went/)
  assert.equal(resumed, `resumed: ${STORY} | true`)
  assert.deepEqual(rest, [
    'cancel: canceled',
    'cancel again: A2A_TASK_NOT_CANCELABLE | the task is canceled already and cannot be canceled',
    'asked back: input-required | Who is the story about?',
    `answered: ${STORY.replace('Ada', 'Grace')}`,
    'refused: the notification has no signature in x-a2a-notification-signature or authorization, so its sender is unknown',
    'webhook: submitted',
    'webhook: working',
    'webhook: completed'
  ])

  server.kill('SIGTERM')
  const [ended] = await once(server, 'exit')
  assert.equal(ended, 0)
  process.stdout.write('a2a-tasks-client: all as expected\n')
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
