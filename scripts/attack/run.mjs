// `npm run attack`: attacks started hosts over loopback, and checks what must hold. Arguments are names of groups;
// default: all; `--verbose` prints the time of each entry. Prints a line for each group, each failure with its
// reproduction, and `N held, 0 failed` at the end.
//
// An attack is an entry `{ name, attack, holds, busy }`. `attack(context)` resolves to what was seen, with `tried`, the
// number of tries (default 1). `holds(seen, context)` returns the problems. Whatever the entry, the host must live; an
// honest client must be answered meanwhile (`busy`: or refused with 503 and Retry-After) and afterwards; no response
// may show a stack, a path or a secret. How long a turn of the event loop or an answer took is printed, and fails
// nothing: the machine has a part in it.
import { fileURLToPath, pathToFileURL } from 'node:url'
import { closeConnections, HonestClient, send } from './client.mjs'
import { endAll, root, start, startHost, until } from './host.mjs'
import { SECRET } from './secret.mjs'

const GROUPS = [
  'bodies', 'fields', 'smuggling', 'sockets', 'readers', 'floods', 'interpreters', 'upstreams', 'folders', 'configurations',
  'durability', 'webhooks', 'owners', 'principals', 'soak'
]
/** Groups that wait for most of their time, so they run next to the others. */
const PATIENT = ['durability']
/** The whole run takes about a quarter of it on a busy machine. */
const MAX_RUN_MS = 40 * 60_000
const MAX_ENTRY_MS = 300_000
/** Problems of one entry that are printed. */
const MAX_SHOWN = 4
const MAX_RECOVERY_MS = 120_000
/** From here on, the wait of an honest client is printed: a multiple of its usual time, and at least this. */
const MIN_PATIENCE_MS = 5_000
const PATIENCE = 50
/** What a group may leave behind. */
const MAX_HEAP_LEFT = 32 * 1024 * 1024
const MAX_FDS_LEFT = 8

const totals = { held: 0, failed: 0 }

/** What the entries of a group share. */
class Context {
  notes = []
  slowest = 0
  busy = 0
  #leaks = new Set()

  constructor (options) { this.options = options }

  async begin () {
    this.host = await startHost({ ...this.options, env: { POLYVAC_CANARY_SECRET: SECRET, ...this.options.env } })
    this.honest = new HonestClient(this.host.url, this.options.honest)
    await until(async () => (await this.honest.report()).answers > 0)
    await new Promise(resolve => setTimeout(resolve, 1_200))
    this.baseline = (await this.honest.report()).medianMs
    this.patience = Math.max(MIN_PATIENCE_MS, PATIENCE * this.baseline)
    this.before = { ...await this.host.measure(), fds: this.host.fds() }
  }

  get url () { return this.host.url }
  get port () { return this.host.port }

  /** As `send`, and looks at the response. */
  async send (options) { return this.inspect(await send(this.url, options), options) }

  async post (path, body, headers = {}, more = {}) {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    return await this.send({ ...more, path, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: text })
  }

  /** Notes a response that shows what it must not. */
  inspect (response, { method = 'GET', path = '' } = {}) {
    const { text = '' } = response
    const found = [SECRET, root.replace(/\/$/, ''), this.host.folder].find(word => text.includes(word)) ?? /\bat [^\n"]{0,80}\(?(?:file:|node:|\/)[^\s"]*:\d+:\d+/.exec(text)?.[0]
    if (found !== undefined) this.#leaks.add(`${method} ${path.slice(0, 60)} answers with ${JSON.stringify(found.slice(0, 80))}`)
    return response
  }

  /** What happened to the host and to the honest client since the last call. */
  async checkHost (mayBeBusy, report) {
    for (const block of this.host.takeBlocks()) report(block)
    const problems = [...this.#leaks]
    this.#leaks.clear()
    if (!this.host.alive) return [...problems, `the host ended: ${this.#lastWords()}`]
    const { maxMs, failures, busy } = await this.honest.report()
    this.slowest = Math.max(this.slowest, maxMs)
    this.busy += busy
    if (maxMs > this.patience) report(`an honest client waited ${maxMs} ms, usually ${this.baseline} ms`)
    if (failures.length > 0) problems.push(`an honest client got ${failures.length} failures, first: ${failures[0]}`)
    if (busy > 0 && mayBeBusy !== true) problems.push(`an honest client was refused ${busy} times with 503`)
    const after = await until(async () => !this.host.alive || (await this.honest.report()).answers > 0, MAX_RECOVERY_MS)
    if (!this.host.alive) problems.push(`the host ended: ${this.#lastWords()}`)
    else if (after === undefined) {
      problems.push(`an honest client gets no answer ${MAX_RECOVERY_MS / 1000} s after the attack`)
      // the next entries need one that answers
      this.host.kill()
      await this.host.ended
    }
    return problems
  }

  /** The errors in the end of the log, or its last line. */
  #lastWords () {
    const lines = this.host.out.text.trim().split('\n')
    return (lines.filter(line => /"level":[56]0|FATAL|^\w*Error/.test(line)).at(-1) ?? lines.at(-1) ?? '').slice(0, 1_000)
  }

  /** Whether heap and descriptors return to what they were. */
  async checkRest (maxHeapLeft = MAX_HEAP_LEFT) {
    const seen = { heap: 0, fds: 0, blockedMs: 0 }
    closeConnections()
    const back = await until(async () => {
      const { heap, blockedMs } = await this.host.measure()
      Object.assign(seen, { heap: heap - this.before.heap, fds: this.host.fds() - this.before.fds, blockedMs: Math.max(seen.blockedMs, blockedMs) })
      return seen.heap < maxHeapLeft && seen.fds < MAX_FDS_LEFT
    }, MAX_RECOVERY_MS)
    this.notes.push(`longest block ${seen.blockedMs} ms`, `heap ${mb(seen.heap)}, fds ${seen.fds} left`)
    const leaks = this.host.out.isLeaking ? ['the log shows a secret'] : []
    return back !== undefined ? leaks : [...leaks, `${mb(seen.heap)} of heap and ${seen.fds} descriptors are left ${MAX_RECOVERY_MS / 1000} s after the attacks`]
  }

  async end () {
    await this.honest?.close()
    this.host?.kill()
    await this.host?.ended
  }
}

const mb = bytes => `${bytes < 0 ? '' : '+'}${Math.round(bytes / 1024 / 1024)} MB`

async function runGroup (name) {
  const startedAt = Date.now()
  const { group } = await import(pathToFileURL(`${root}/scripts/attack/${name}.mjs`).href)
  const result = { tried: 0, problems: 0 }
  const note = (entry, problems, repro) => {
    for (const problem of problems.slice(0, MAX_SHOWN)) process.stdout.write(`FAILED ${name}: ${entry}: ${problem}${repro === undefined ? '' : `\n    ${repro}`}\n`)
    if (problems.length > MAX_SHOWN) process.stdout.write(`FAILED ${name}: ${entry}: ${problems.length - MAX_SHOWN} more\n`)
    result.problems += problems.length
  }
  let context
  try {
    context = new Context(await group.host?.() ?? {})
    if (group.host !== undefined) await context.begin()
    for (const entry of await group.entries(context)) {
      let problems
      const entryAt = Date.now()
      try {
        const seen = await within(entry.attack(context), entry.ms ?? MAX_ENTRY_MS)
        result.tried += seen?.tried ?? 1
        if (seen?.note !== undefined) context.notes.push(seen.note)
        problems = [await entry.holds?.(seen, context) ?? []].flat()
      } catch (err) {
        result.tried++
        problems = [err.message]
      }
      if (group.host !== undefined) problems.push(...await context.checkHost(entry.busy, text => process.stdout.write(`block: ${name}: ${entry.name}: ${text}\n`)).catch(err => [err.message]))
      if (isVerbose) process.stderr.write(`${name}: ${entry.name}: ${Date.now() - entryAt} ms\n`)
      note(entry.name, problems, problems.length > 0 ? entry.repro : undefined)
      if (group.host !== undefined && !context.host.alive) {
        await context.end()
        await context.begin()
      }
    }
    if (group.host !== undefined) {
      result.tried++
      note('afterwards', await context.checkRest(group.maxHeapLeft).catch(err => [err.message]))
      context.notes.unshift(`honest client: at most ${context.slowest} ms, usually ${context.baseline} ms, ${context.busy} × 503`)
    }
  } catch (err) {
    note('the group', [err.stack])
  } finally {
    await group.end?.()
    await context?.end()
  }
  const failed = result.problems
  const held = Math.max(0, result.tried - failed)
  process.stdout.write(`${name}: ${[...context?.notes ?? [], `${Math.round((Date.now() - startedAt) / 1000)} s`].join('; ')}: ${held} held, ${failed} failed\n`)
  return { held, failed }
}

function within (promise, ms) {
  let timer
  return Promise.race([
    promise,
    new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`the attack did not end within ${ms / 1000} s`)), ms) })
  ]).finally(() => clearTimeout(timer))
}

function finish () {
  const failed = totals.failed + (totals.held === 0 ? 1 : 0)
  process.stdout.write(`${totals.held} held, ${failed} failed\nattack: ${totals.held} passed, ${failed} failed\n`)
  endAll()
  process.exit(failed === 0 ? 0 : 1)
}

const isVerbose = process.argv.includes('--verbose')
const wanted = process.argv.slice(2).filter(name => name !== '--verbose')
const unknown = wanted.filter(name => !GROUPS.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`no group is named ${unknown.join(', ')}; groups: ${GROUPS.join(', ')}\n`)
  process.exit(2)
}
if (process.platform !== 'linux') {
  process.stderr.write('the attacks look at sockets and processes in /proc, which only Linux has\n')
  process.exit(2)
}
setTimeout(() => {
  totals.failed++
  process.stdout.write(`FAILED the run did not end within ${MAX_RUN_MS / 60_000} minutes\n`)
  finish()
}, MAX_RUN_MS)
/** A group in a separate process. Its lines are printed when it has ended. */
async function runApart (name) {
  const { out, ended } = start([fileURLToPath(import.meta.url), name], { cwd: root })
  const { code } = await ended
  const [, held, failed] = /\nattack: (\d+) passed, (\d+) failed/.exec(out.text) ?? [undefined, 0, 1]
  process.stdout.write(out.text.replace(/\d+ held, \d+ failed\nattack: [^]*$/, ''))
  return { held: Number(held), failed: code === 0 ? Number(failed) : Math.max(1, Number(failed)) }
}

function count ({ held, failed }) {
  totals.held += held
  totals.failed += failed
}

const names = wanted.length > 0 ? wanted : GROUPS
const apart = names.length === 1 ? [] : names.filter(name => PATIENT.includes(name))
const waiting = apart.map(runApart)
for (const name of names) if (!apart.includes(name)) count(await runGroup(name))
for (const result of waiting) count(await result)
finish()
