// Starts the service both ways and asks its agents like a client.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const command = dirname(createRequire(import.meta.url).resolve('polyvac/package.json'))

await withService('polyvac start', [join(command, 'dist', 'cli.js'), 'start'], askAgents)
await withService('server.js', ['server.js'], async (url, service) => {
  assert.deepEqual(await (await fetch(`${url}/about`)).json(), { agents: ['friendly', 'brief'] })
  await askAgents(url, service)
})

async function askAgents (url, service) {
  // the vac interpreter answers once, with the VAC's own greeting and every earlier turn
  const chat_history = [{ human: 'zero' }, { ai: '1 words' }]
  const once = await ask(`${url}/vac/friendly`, { user_input: 'one two three', chat_history })
  assert.deepEqual(await once.json(), {
    answer: 'Hello! 3 words', source_documents: [], metadata: { words: 3, earlier_turns: 2 }
  })

  // the stream interpreter answers in pieces; plain text ends with the result on a separate line
  const stream = await ask(`${url}/vac/streaming/brief`, { user_input: 'one two three' })
  const [text, result] = (await stream.text()).trim().split('\n')
  assert.equal(text, '1 one 2 two 3 three ')
  assert.deepEqual(JSON.parse(result), {
    answer: '1 one 2 two 3 three', source_documents: [], metadata: { words: 3, earlier_turns: 0 }
  })

  // a further field of the request reaches the interpreter: it pauses after each of the three words
  const start = performance.now()
  await (await ask(`${url}/vac/streaming/brief`, { user_input: 'one two three', pause_ms: 150 })).text()
  assert.ok(performance.now() - start >= 400, 'pause_ms reaches the interpreter')

  // for a client of the OpenAI API the VACs are models
  const { data } = await (await fetch(`${url}/openai/v1/models`)).json()
  assert.deepEqual(data.map(({ id }) => id), ['friendly', 'brief'])

  // a caller that disconnects stops the interpreter
  const leaving = new AbortController()
  const left = await ask(`${url}/vac/streaming/friendly`, { user_input: 'one two', pause_ms: 60_000 }, leaving.signal)
  await left.body.getReader().read()
  leaving.abort()
  for (let tries = 0; !service.log().includes('stopped counting'); tries++) {
    assert.ok(tries < 40, 'the interpreter stops within a second')
    await delay(25)
  }
}

function ask (url, body, signal) {
  const headers = { 'content-type': 'application/json', connection: 'close' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
}

async function withService (name, args, check) {
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname, env: { ...process.env, PORT: '0', LOG_LEVEL: 'info' }, stdio: ['ignore', 'pipe', 'pipe']
  })
  let out = ''
  let log = ''
  child.stdout.on('data', piece => { out += piece })
  child.stderr.on('data', piece => { log += piece })
  try {
    let url
    for (let tries = 0; url === undefined; tries++) {
      if (child.exitCode !== null || tries === 400) throw new Error(`${name} did not start: ${log}`)
      await delay(25)
      url = /http:\/\/127\.0\.0\.1:\d+|http:\/\/\[::1\]:\d+/.exec(out)?.[0]
    }
    await check(url, { log: () => log })
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
    process.stdout.write(`own-interpreter, ${name}: all as expected\n`)
  } catch (err) {
    process.stderr.write(log)
    throw err
  } finally {
    child.kill()
  }
}
