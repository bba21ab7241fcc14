// Runs that wait for an agent of another service, a published server of A2A, while their process is killed.
import { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../attack/host.mjs'
import { follow, start } from './runs.mjs'

/** Runs at once: the share that one owner has of the places of a process. */
const AT_ONCE = 4
const WORDS = Array.from({ length: 10 }, (_, i) => `word ${i} `)
/** The words before the process is killed. */
const BEFORE = 3
/** The service keeps the id of a task before it reads on: longer than that takes. */
const KEPT_MS = 1_500
const MAX_MS = 60_000
/** How runs wait: the VAC of the agent, and an interpreter that asks it twice. */
const KINDS = [
  { vac: 'peer', question: id => id, answer: WORDS.join(''), messages: 1 },
  { vac: 'demo', question: id => `relay ${id}`, answer: WORDS.join('').repeat(2), messages: 2 }
]

/**
 * An agent on the server of @a2a-js/sdk, which works again for a message that comes again. Each of its tasks pauses
 * until somebody asks for it: that server loses what is published while no stream is open.
 */
export async function startAgent () {
  const agent = { came: 0, expected: 0, ids: new Map(), canceled: [], paused: new Set(), url: '', close: () => {} }
  const waiting = new Map()
  const executor = {
    async execute ({ userMessage, taskId, contextId }, bus) {
      const text = userMessage.parts.map(({ content }) => content?.$case === 'text' ? content.value : '').join('')
      agent.came++
      agent.ids.set(text, [...agent.ids.get(text) ?? [], userMessage.messageId])
      const publish = (kind, type, event) => bus.publish(AgentEvent[kind](type.fromJSON({ taskId, contextId, ...event })))
      const say = (word, append) => publish('artifactUpdate', TaskArtifactUpdateEvent, { append, artifact: { artifactId: 'answer', parts: [{ text: word }] } })
      publish('task', Task, { id: taskId, status: { state: 'TASK_STATE_WORKING' } })
      for (const [i, word] of WORDS.entries()) {
        say(word, i > 0)
        if (i + 1 !== BEFORE) continue
        const asked = new Promise(resolve => waiting.set(taskId, resolve))
        agent.paused.add(`${text} ${taskId}`)
        await asked
      }
      publish('statusUpdate', TaskStatusUpdateEvent, { status: { state: 'TASK_STATE_COMPLETED' } })
      bus.finished()
    },
    async cancelTask (taskId) { agent.canceled.push(taskId) }
  }
  const app = express()
  const server = app.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  agent.url = `http://127.0.0.1:${server.address().port}/peer`
  agent.close = () => {
    server.closeAllConnections()
    server.close()
  }
  const card = {
    name: 'Peer',
    description: 'A peer',
    version: '1.0.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
    supportedInterfaces: [{ url: agent.url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }]
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  app.use('/peer/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/peer', express.json(), (request, _response, next) => {
    const { method, params } = request.body ?? {}
    next()
    // once its stream is open
    if (method === 'SubscribeToTask') setTimeout(() => waiting.get(params.id)?.(), 200)
  }, jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  return agent
}

/**
 * Kills all processes while runs of each kind wait in the middle of their remote tasks, until `count` runs have.
 * @returns `{ runs, whole, seconds, lost, duplicated, problems }`
 */
export async function killUnderAgents (replicas, agent, count) {
  const began = performance.now()
  const seen = { runs: 0, whole: 0, lost: 0, duplicated: 0, problems: [] }
  for (let round = 0; seen.runs < count; round++) await killRound(replicas, agent, KINDS[round % KINDS.length], Math.min(AT_ONCE, count - seen.runs), seen)
  seen.seconds = (performance.now() - began) / 1000
  return seen
}

async function killRound (replicas, agent, { vac, question, answer, messages }, count, seen) {
  const { url } = replicas
  const ids = Array.from({ length: count }, () => `question ${++agent.expected}`)
  const pausedOf = id => [...agent.paused].filter(key => key.startsWith(`${id} `)).length
  const runs = await Promise.all(ids.map(async id => ({ id, run: await start(url, vac, question(id)) })))
  const readers = runs.map(async ({ run }) => await follow(url, run, () => {}, vac).catch(err => ({ problems: [err.message] })))
  if (await until(() => ids.every(id => pausedOf(id) === messages), MAX_MS) !== true) seen.problems.push(`${vac}: not all remote tasks have begun`)
  await delay(KEPT_MS)
  for (const { host } of replicas.replicas) host.kill()
  const texts = await Promise.all(readers)
  for (const [i, { id, run }] of runs.entries()) {
    seen.runs++
    const { text, answers = 0, problems } = texts[i]
    const sent = agent.ids.get(id) ?? []
    const wrong = [...problems]
    if (text !== answer || answers !== 1) wrong.push(`its reader has ${JSON.stringify(text)} and ${answers} ends`)
    if (sent.length !== messages || new Set(sent).size !== messages) wrong.push(`${sent.length} messages were sent in place of ${messages}: ${sent.join(', ')}`)
    if ((text ?? '').length < answer.length || answers === 0) seen.lost++
    else if (text !== answer || answers > 1 || sent.length > messages) seen.duplicated++
    if (wrong.length === 0) seen.whole++
    seen.problems.push(...wrong.map(text => `${vac}, run ${run}: ${text}`))
  }
  agent.expected += count * (messages - 1)
  if (agent.canceled.length > 0) seen.problems.push(`${agent.canceled.splice(0).length} remote tasks were canceled`)
}
