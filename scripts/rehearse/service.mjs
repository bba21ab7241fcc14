import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Longest times in ms until a service prints its address, and until it has ended: the machine may be busy. */
const START_MS = 120_000
const STOP_MS = 120_000

/** The address in the banner of a starting service. */
export async function urlOf (service) {
  let ended
  service.ended.then(end => { ended = end }, err => { ended = err })
  for (const end = Date.now() + START_MS; Date.now() < end;) {
    const url = /http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost|0\.0\.0\.0):\d+/.exec(service.out)?.[0]
    if (url !== undefined) return url.replace('0.0.0.0', '127.0.0.1')
    if (ended !== undefined) throw new Error(`the service ended before it listened\n${service.output}`)
    await delay(20)
  }
  throw new Error(`the service printed no address within ${START_MS} ms\n${service.output}`)
}

/** Asks once and returns the result object. */
export async function ask (url, question, token) {
  return await post(url, { user_input: question }, token)
}

/** Sends JSON, and returns the JSON of a 200. */
export async function post (url, body, token) {
  const headers = { 'content-type': 'application/json', connection: 'close', ...token !== undefined && { authorization: `Bearer ${token}` } }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text)
}

/**
 * Ends a service with SIGTERM and returns the time in ms. Fails unless it exits, leaves no child process, and has the
 * exit code 0; behind npm the code is not checked, since npm reports the signal instead.
 */
export async function stop (service, { throughNpm = false } = {}) {
  const begun = performance.now()
  service.child.kill('SIGTERM')
  const end = await Promise.race([service.ended, delay(STOP_MS, undefined, { ref: false })])
  assert.notEqual(end, undefined, `it, or a child process, still runs ${STOP_MS} ms after SIGTERM\n${service.output}`)
  if (!throughNpm) assert.deepEqual(end, { code: 0, signal: null }, service.output)
  return Math.round(performance.now() - begun)
}

/** A port of 127.0.0.1 that no process listens on. */
export async function freePort () {
  const server = createServer()
  const port = await new Promise(resolve => { server.listen(0, '127.0.0.1', () => resolve(server.address().port)) })
  await new Promise(resolve => { server.close(resolve) })
  return port
}
