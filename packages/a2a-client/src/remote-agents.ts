import { cleanText, deadlineSignal, LogGate, Redactor, unlessAborted } from '@polyvac/core/plugin'
import type { Interpreter } from '@polyvac/core'
import { Credentials, valuesOf } from './auth/credentials.js'
import { OwnerToken, type SignIn } from './auth/owner-token.js'
import { CardSource } from './card/card-source.js'
import { CardVerifier, isWebAddress } from './card/signature.js'
import { Connection } from './client/connection.js'
import { RemoteAgentTimeoutError, RemoteAgentUnauthorizedError, RemoteAgentUnavailableError } from './errors.js'
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
  /** Why not, or why an old card serves; `cause` is for the log, and may name addresses. */
  readonly problem?: { readonly code: string, readonly message: string, readonly cause?: unknown } | undefined
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
  checkAgents(options)
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

function open (agent: RemoteAgent, { ownOrigins = [], resolve, signIn = noSignIn, tasks }: RemoteAgentsOptions & Required<Pick<RemoteAgentsOptions, 'tasks'>>): Opened {
  const { name, auth = {}, headers = {}, extensions = [], timeoutMs = DEFAULT_TIMEOUT_MS, skill, protocol, keys } = agent
  const url = new URL(agent.url)
  const tokenUrls = Object.values(auth).flatMap(credential => 'tokenUrl' in credential && credential.tokenUrl !== undefined ? [new URL(credential.tokenUrl)] : [])
  const keysUrls = typeof keys === 'string' && isWebAddress(keys) ? [new URL(keys)] : []
  const certificate = Object.values(auth).find(credential => 'cert' in credential)
  const refuse = (problem: string): Error => new RemoteAgentUnauthorizedError(name, problem)
  const requests = new AgentRequests([url, ...tokenUrls, ...keysUrls], resolve, certificate && { certificate, refuse })
  const secretsOf = (): Redactor => new Redactor([...Object.entries(headers), ['url', agent.url], ...valuesOf(auth)])
  const secrets = secretsOf()
  const credentials = new Credentials(name, auth, requests, secrets)
  const verification = verificationOf(agent)
  const verifier = verification === 'off' ? undefined : new CardVerifier({ name, verification, keys: keys!, requests })
  const source = new CardSource({
    name, url, requests, headers, extensions, version: protocol, verifier, secrets, ownOrigins: typeof ownOrigins === 'function' ? ownOrigins : () => ownOrigins
  })
  // callers ask often, and read no address
  const gate = new LogGate()
  const interpreter: Interpreter = async function * (question, _vac, history, extra) {
    const reason = (): Error => new RemoteAgentTimeoutError(name, timeoutMs / 1_000)
    const deadline = deadlineSignal(timeoutMs, extra.signal, { reason })
    const owner = new OwnerToken({ name, url: url.href, owner: extra.principal?.owner ?? '', signIn })
    try {
      const usable = await source.get(deadline.signal)
      const connection = new Connection(usable, { requests, credentials, owner, headers, extensions, origin: url.origin, secrets: secretsOf() })
      return yield * askRemote({ name, skill, connection, tasks: tasks!, question, history, extra, signal: deadline.signal })
    } catch (err) {
      if (deadline.signal.aborted) throw deadline.signal.reason
      const error = callerError(name, err)
      if (error instanceof RemoteAgentUnavailableError && gate.pass(name) !== undefined) {
        extra.log.warn({ agent: name, url: url.origin + url.pathname, err: error.cause ?? error }, 'a remote agent does not answer; look whether it runs at this address, or correct `url` of its entry')
      }
      throw error
    } finally {
      deadline.end()
      await owner.close()
    }
  }
  interpreter.takes = ['images', 'audio', 'files']
  return { name, source, requests, interpreter }
}

/** For entries without `perOwner`: the others are refused without a sign-in. */
const noSignIn: SignIn = async () => { throw new Error('no owner signs in') }

function stateOf (name: string, { known, problem }: CardSource): RemoteAgentState {
  const { code = 'REMOTE_AGENT_UNAVAILABLE', message = '', cause } = (problem ?? {}) as { code?: string, message?: string, cause?: unknown }
  return {
    name,
    isReady: known !== undefined,
    ...problem !== undefined && { problem: { code, message, ...cause !== undefined && { cause } } },
    ...known !== undefined && {
      title: cleanText(known.card.name, MAX_TITLE_CHARS),
      description: cleanText(known.card.description, MAX_DESCRIPTION_CHARS),
      protocol: `${known.target.version} ${known.target.binding}`
    }
  }
}
