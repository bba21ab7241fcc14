import { cleanText, deadlineSignal, unlessAborted } from '@polyvac/core/plugin'
import type { Interpreter } from '@polyvac/core'
import { Credentials } from './auth/credentials.js'
import { CardSource } from './card/card-source.js'
import { CardVerifier, isWebAddress } from './card/signature.js'
import { Connection } from './client/connection.js'
import { RemoteAgentTimeoutError, RemoteAgentUnauthorizedError } from './errors.js'
import { AgentRequests } from './http/requests.js'
import { askRemote } from './interpreter/ask-remote.js'
import { callerError } from './interpreter/failures.js'
import { processTasks } from './interpreter/remote-tasks.js'
import { checkAgents, DEFAULT_TIMEOUT_MS, verificationOf, type RemoteAgent, type RemoteAgentsOptions } from './options.js'

/** Longest name of a card that is shown, in characters. */
export const MAX_TITLE_CHARS = 200
/** Longest description of a card that is shown, in characters: models read it with each question. */
export const MAX_DESCRIPTION_CHARS = 2_000

/** What is known of an agent. */
export interface RemoteAgentState {
  readonly name: string
  /** Whether its card was read and can be used. */
  readonly isReady: boolean
  /** Why not, or why an old card serves. */
  readonly problem?: { readonly code: string, readonly message: string } | undefined
  /** Of its card. */
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Its version of A2A and its binding, such as `1.0 JSONRPC`. */
  readonly protocol?: string | undefined
}

/** Agents that answer over A2A, as interpreters of VACs. */
export interface RemoteAgents {
  /** By the names of the entries. */
  readonly interpreters: Readonly<Record<string, Interpreter>>
  /** Reads the cards that are not known, or not fresh. Resolves also where agents do not answer. */
  load (signal: AbortSignal): Promise<void>
  /** What is known now, without a request. */
  states (): RemoteAgentState[]
  /** Ends their connections. */
  close (): Promise<void>
}

/**
 * Makes an interpreter for each agent. Cards are read at the first question, or by `load`.
 * @throws REMOTE_AGENT_OPTIONS
 * @example
 * const remote = remoteAgents({ agents: [{ name: 'weather', url: 'https://weather.example.com' }] })
 * const vacs = createVacs({ vacs: ['weather'], streamInterpreter: remote.interpreters.weather })
 */
export function remoteAgents (options: RemoteAgentsOptions): RemoteAgents {
  checkAgents(options.agents)
  const tasks = options.tasks ?? processTasks()
  const agents = options.agents.map(agent => open(agent, { ...options, tasks }))
  return {
    interpreters: Object.fromEntries(agents.map(({ name, interpreter }) => [name, interpreter])),
    async load (signal) { await unlessAborted(Promise.allSettled(agents.map(async ({ source }) => await source.read())), signal, () => {}) },
    states: () => agents.map(({ name, source }) => stateOf(name, source)),
    async close () { await Promise.all(agents.map(async ({ requests }) => { await requests.close() })) }
  }
}

interface Opened {
  readonly name: string
  readonly source: CardSource
  readonly requests: AgentRequests
  readonly interpreter: Interpreter
}

function open (agent: RemoteAgent, { ownOrigins = [], resolve, tasks }: RemoteAgentsOptions & Required<Pick<RemoteAgentsOptions, 'tasks'>>): Opened {
  const { name, auth = {}, headers = {}, extensions = [], timeoutMs = DEFAULT_TIMEOUT_MS, skill, protocol, keys } = agent
  const url = new URL(agent.url)
  const tokenUrls = Object.values(auth).flatMap(credential => 'tokenUrl' in credential && credential.tokenUrl !== undefined ? [new URL(credential.tokenUrl)] : [])
  const keysUrls = typeof keys === 'string' && isWebAddress(keys) ? [new URL(keys)] : []
  const certificate = Object.values(auth).find(credential => 'cert' in credential)
  const refuse = (problem: string): Error => new RemoteAgentUnauthorizedError(name, problem)
  const requests = new AgentRequests([url, ...tokenUrls, ...keysUrls], resolve, certificate && { certificate, refuse })
  const credentials = new Credentials(name, auth, requests)
  const verification = verificationOf(agent)
  const verifier = verification === 'off' ? undefined : new CardVerifier({ name, verification, keys: keys!, requests })
  const source = new CardSource({
    name, url, requests, headers, extensions, version: protocol, verifier, ownOrigins: typeof ownOrigins === 'function' ? ownOrigins : () => ownOrigins
  })
  const interpreter: Interpreter = async function * (question, _vac, history, extra) {
    const reason = (): Error => new RemoteAgentTimeoutError(name, timeoutMs / 1_000)
    const deadline = deadlineSignal(timeoutMs, extra.signal, { reason })
    try {
      const usable = await source.get(deadline.signal)
      const connection = new Connection(usable, { requests, credentials, headers, extensions, origin: url.origin })
      return yield * askRemote({ name, skill, connection, tasks: tasks!, question, history, extra, signal: deadline.signal })
    } catch (err) {
      if (deadline.signal.aborted) throw deadline.signal.reason
      throw callerError(name, err)
    } finally {
      deadline.end()
    }
  }
  interpreter.takes = ['images', 'audio', 'files']
  return { name, source, requests, interpreter }
}

function stateOf (name: string, { known, problem }: CardSource): RemoteAgentState {
  const { code = 'REMOTE_AGENT_UNAVAILABLE', message = '' } = (problem ?? {}) as { code?: string, message?: string }
  return {
    name,
    isReady: known !== undefined,
    ...problem !== undefined && { problem: { code, message } },
    ...known !== undefined && {
      title: cleanText(known.card.name, MAX_TITLE_CHARS),
      description: cleanText(known.card.description, MAX_DESCRIPTION_CHARS),
      protocol: `${known.target.version} ${known.target.binding}`
    }
  }
}
