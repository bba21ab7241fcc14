// Tasks that were acknowledged survive: random SIGKILLs, two processes on one file, a full disk, files that go, a clock
// that is set back.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jsonOf, post, rpc, task } from './client.mjs'
import { configuration, folderOf, root, startHost, until, upstream } from './host.mjs'

const CYCLES = 10
const TASKS = 30
const ENDED = ['completed', 'failed', 'canceled']
const END_MS = 120_000

const create = (host, question, skill) => post(host.url, '/a2a/tasks/send', task(question, skill)).then(response => ({ response, task: jsonOf(response)?.result }))
const get = async (host, taskId) => jsonOf(await post(host.url, '/a2a/tasks/get', rpc('tasks/get', { taskId })))?.result
const run = (folder, more = {}) => startHost({ cwd: folder, ...more })
const newFolder = service => folderOf({ 'vac_config.yaml': configuration(service) })
const isRefused = ({ status, headers, text }) => (status === 503 && headers['retry-after'] !== undefined) || (status < 500 && jsonOf({ text })?.error !== undefined)

/** Problems of tasks that must have ended once. */
async function endsOf (host, ids) {
  const problems = []
  for (const id of ids) {
    const seen = await until(async () => { const now = await get(host, id); return now === undefined || ENDED.includes(now.state) ? now ?? 'lost' : undefined }, END_MS)
    if (seen === undefined) problems.push(`task ${id} has not ended after ${END_MS / 1000} s`)
    else if (seen === 'lost') problems.push(`the acknowledged task ${id} is lost`)
    if (problems.length > 3) break
  }
  return problems
}

/** The states of a task's log, by reading it from its beginning. */
async function endsInLog (host, taskId) {
  const { text } = await post(host.url, '/a2a/tasks/resubscribe', rpc('tasks/resubscribe', { taskId }), { 'last-event-id': '0' }, { readMs: 3_000 })
  const frames = [...text.matchAll(/^id: (\d+)\ndata: .*?"state":"([\w-]+)"/gm)].map(([, id, state]) => ({ id: Number(id), state }))
  const gaps = frames.filter(({ id }, i) => i > 0 && id !== frames[i - 1].id + 1).length
  return { ends: frames.filter(({ state }) => ENDED.includes(state)).length, gaps }
}

const killed = {
  name: 'SIGKILLs at random moments',
  async attack () {
    const folder = newFolder()
    const acknowledged = []
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const host = await run(folder)
      const work = Array.from({ length: TASKS }, async (_, i) => {
        await delay(i * 5)
        const { task } = await create(host, i % 2 === 0 ? 'hello' : 'flow 10 30', i % 2 === 0 ? 'vac_query_demo' : 'vac_stream_demo').catch(() => ({}))
        if (task?.taskId !== undefined) acknowledged.push(task.taskId)
      })
      const wanted = acknowledged.length + 1 + Math.floor(Math.random() * TASKS * 0.8)
      await until(() => acknowledged.length >= wanted)
      await delay(Math.random() * 100)
      host.kill()
      await Promise.all(work)
      await host.ended
    }
    const host = await run(folder)
    const problems = await endsOf(host, acknowledged)
    for (const id of acknowledged.slice(0, 60)) {
      const { ends, gaps } = await endsInLog(host, id)
      if (ends !== 1) problems.push(`task ${id} has ${ends} ends in its log`)
      if (gaps > 0) problems.push(`the log of task ${id} has ${gaps} gaps`)
    }
    host.kill()
    return { tried: acknowledged.length, problems, note: `${CYCLES} SIGKILLs, ${acknowledged.length} acknowledged tasks` }
  },
  holds: ({ problems, tried }) => tried < CYCLES * 2 ? [`only ${tried} tasks were acknowledged`] : problems
}

const twoProcesses = {
  name: 'two processes on one task file',
  async attack () {
    const folder = newFolder()
    const hosts = [await run(folder), await run(folder)]
    const problems = []
    const made = await Promise.all(Array.from({ length: 100 }, (_, i) => create(hosts[i % 2], 'hello')))
    for (const { response } of made) if (response.status !== 200) problems.push(`${response.status} ${response.text.slice(0, 200)}`)
    const ids = made.map(({ task }) => task?.taskId).filter(Boolean)
    problems.push(...await endsOf(hosts[0], ids), ...await endsOf(hosts[1], ids.slice(0, 20)))
    // one of them dies; the other one finishes its work
    const slow = await Promise.all(Array.from({ length: 10 }, () => create(hosts[0], 'flow 100 20', 'vac_stream_demo')))
    hosts[0].kill()
    problems.push(...await endsOf(hosts[1], slow.map(({ task }) => task?.taskId).filter(Boolean)))
    hosts[1].kill()
    return { tried: made.length + slow.length, problems }
  },
  holds: ({ problems }) => problems
}

/** Writes tasks until the disk refuses them, then makes space with `free`. */
async function fill (host, folder, free) {
  const problems = []
  const acknowledged = []
  const word = 'x'.repeat(400_000)
  let refused = 0
  for (let i = 0; i < 60 && refused < 5; i++) {
    const response = await post(host.url, '/a2a/tasks/send', rpc('tasks/send', { skillName: 'vac_query_demo', input: { query: 'hello', context: { word } } }))
    const made = jsonOf(response)?.result
    if (made?.taskId !== undefined) acknowledged.push(made.taskId)
    else if (isRefused(response)) refused++
    else problems.push(`${response.status} ${response.text.slice(0, 300)}`)
    if (response.text.includes(folder)) problems.push('the answer names the file')
  }
  // space that is too small for a large task may be enough for a small one
  const takesSmall = (await create(host, 'hello')).task !== undefined
  const ready = (await (await fetch(`${host.url}/ready`)).json()).status
  const direct = await post(host.url, '/vac/demo', { user_input: 'hello' })
  if (refused === 0) problems.push('the disk never became full')
  else if (ready === 'ready' && !takesSmall) problems.push('/ready answers `ready` while tasks are refused')
  if (direct.status !== 200) problems.push(`a direct call: ${direct.status}`)
  await free()
  const again = await until(async () => (await create(host, 'hello')).task?.state === 'completed')
  if (again === undefined) problems.push('tasks are refused after space was made')
  problems.push(...await endsOf(host, acknowledged))
  return { tried: 60, problems }
}

const fullDisk = {
  name: 'a full disk',
  async attack () {
    const disk = mkdtempSync(join(tmpdir(), 'polyvac-attack-disk-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk], { stdio: 'ignore' })
    } catch {
      rmSync(disk, { recursive: true })
      return { note: 'a full disk skipped: this user cannot mount a tmpfs; a limit of the file size stands for it', problems: [] }
    }
    const unmount = () => { try { execFileSync('umount', ['-l', disk], { stdio: 'ignore' }) } catch {} rmSync(disk, { recursive: true, force: true }) }
    process.once('exit', unmount)
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, Buffer.alloc(3 * 1024 * 1024))
    const host = await run(newFolder({ tasks: { path: join(disk, 'tasks.db') } }))
    try {
      return await fill(host, disk, () => rmSync(ballast))
    } finally {
      host.kill()
      await host.ended
      process.off('exit', unmount)
      unmount()
    }
  },
  holds: ({ problems }) => problems
}

const fileLimit = {
  name: 'a limit of the file size',
  async attack () {
    const folder = newFolder()
    const host = await run(folder, { limit: 'ulimit -S -f 8192' })
    const seen = await fill(host, folder, () => execFileSync('prlimit', ['--pid', String(host.pid), '--fsize=unlimited']))
    host.kill()
    return seen
  },
  holds: ({ problems }) => problems
}

const missingFile = {
  name: 'the files of the store are deleted while it runs',
  async attack () {
    const folder = newFolder()
    const host = await run(folder)
    const before = await create(host, 'hello')
    for (const name of ['tasks.db-wal', 'tasks.db-shm']) rmSync(join(folder, name), { force: true })
    await delay(2_000)
    const after = await Promise.all(Array.from({ length: 5 }, () => create(host, 'hello')))
    const acknowledged = [before, ...after].map(({ task }) => task?.taskId).filter(Boolean)
    host.kill()
    await host.ended
    const next = await run(folder).catch(err => err)
    if (next instanceof Error) return { problems: [], note: 'after its WAL was deleted, the store refuses to open' }
    const problems = await endsOf(next, acknowledged)
    next.kill()
    return { tried: acknowledged.length, problems }
  },
  holds: ({ problems }) => problems,
  repro: 'rm .polyvac/tasks.db-wal while the host runs; send tasks; SIGKILL; start; get them'
}

const emptyFile = {
  name: 'a task file of 0 bytes is not a new store',
  async attack () {
    const folder = newFolder()
    const first = await run(folder)
    await create(first, 'hello')
    await first.stop()
    if (!existsSync(join(folder, 'tasks.db'))) return { problem: 'the host wrote no task file' }
    writeFileSync(join(folder, 'tasks.db'), '')
    const next = await run(folder).catch(err => err)
    if (next instanceof Error) return { text: next.message }
    next.kill()
    return { problem: 'the host starts, and all tasks are gone' }
  },
  holds: ({ problem }) => problem ?? []
}

const clockBack = {
  name: 'the clock is set back by an hour between two starts',
  async attack () {
    const folder = newFolder()
    const first = await run(folder)
    const { task } = await create(first, 'wait 3000', 'vac_stream_demo')
    await until(async () => (await get(first, task.taskId)).state === 'working')
    first.kill()
    await first.ended
    const next = await run(folder, { env: { ATTACK_CLOCK_MS: '-3600000' } })
    const problems = await endsOf(next, [task.taskId])
    const fresh = await create(next, 'hello')
    if (fresh.task?.state !== 'completed') problems.push(`a new task: ${fresh.response.text.slice(0, 200)}`)
    next.kill()
    return { problems }
  },
  holds: ({ problems }) => problems
}

/** Processes of the system whose command line has a word. */
const running = word => readdirSync('/proc').filter(pid => /^\d+$/.test(pid)).filter(pid => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
  } catch {
    return false
  }
})

const orphans = {
  name: 'no child is left after a SIGKILL of the host',
  async attack () {
    const word = `attack-${process.pid}`
    const bad = `${root}/packages/mcp-gateway/test/fixtures/bad-server.mjs`
    const host = await startHost({ config: configuration({ mcp_servers: [upstream({ mark: word }), { name: 'stubborn', command: process.execPath, args: [bad, '--stubborn', `--mark=${word}`], inherit_env: [] }] }) })
    await until(async () => (await (await fetch(`${host.url}/mcp/servers`)).json()).servers.every(({ state }) => state === 'ready'))
    const before = running(word).length
    host.kill()
    await host.ended
    await until(() => running(word).length === 0)
    const left = running(word)
    for (const pid of left) process.kill(Number(pid), 'SIGKILL')
    return { before, left: left.length }
  },
  holds: ({ before, left }) => before < 2 ? ['the servers did not start'] : left === 0 ? [] : [`${left} of ${before} processes are left`]
}

export const group = { entries: () => [killed, twoProcesses, fullDisk, fileLimit, missingFile, emptyFile, clockBack, orphans] }
