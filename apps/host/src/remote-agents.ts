import type { Interpreter, RemoteState, VacConfig, VacParts } from '@polyvac/core'
import { backoff } from '@polyvac/core/plugin'
import type { Credential, RemoteAgent, RemoteAgents } from '@polyvac/a2a-client'
import type { FastifyInstance } from 'fastify'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { agentProblems, type A2aAgentConfig } from './config/agent-config.js'
import { AgentNotConfiguredError, AgentsError, PackageMissingError } from './errors.js'
import type { Settings } from './host-options.js'
import { loadPlugin } from './protocols.js'

/** Between reads of the cards of agents that do not answer. */
const RETRY = { firstMs: 1_000, maxMs: 60_000 }

/** The agents of `a2a_agents`, as VACs. */
export interface HostAgents {
  readonly names: readonly string[]
  readonly parts: Readonly<Record<string, VacParts>>
  /** The entries of the VACs, with what the cards that are known now have for people. */
  entries (): Record<string, VacConfig>
  /** Why agents cannot be asked, or only by an old card: codes, and nothing that another server wrote. */
  problems (): Array<{ readonly name: string, readonly reason: string }>
  /** Reads the cards until all are known, and calls `onChange` after each change. Resolves then, or with the signal. */
  follow (signal: AbortSignal, onChange: () => void): Promise<void>
  close (): Promise<void>
}

/** @param folder that of the configuration, for paths in it. @throws A2A_AGENTS, PACKAGE_MISSING */
export async function openAgents (entries: readonly A2aAgentConfig[], folder: string, ownOrigins: () => readonly string[]): Promise<HostAgents> {
  const module = await loadPlugin('@polyvac/a2a-client') as typeof import('@polyvac/a2a-client') | undefined
  if (module === undefined) throw new PackageMissingError('a2a_agents', '@polyvac/a2a-client')
  const complete = entries.filter(entry => unsetVariables(entry).length === 0)
  const remote = module.remoteAgents({ agents: complete.map(entry => toAgent(entry, folder)), ownOrigins })
  const states = (): Map<string, ReturnType<RemoteAgents['states']>[number]> => new Map(remote.states().map(state => [state.name, state]))
  const stateOf = (name: string): RemoteState => {
    const { isReady, problem, protocol } = states().get(name) ?? { isReady: false, problem: new AgentNotConfiguredError(name), protocol: undefined }
    return { ready: isReady, ...problem !== undefined && { problem: problem.code }, ...protocol !== undefined && { protocol } }
  }
  const agents: HostAgents = {
    names: entries.map(({ name }) => name),
    parts: Object.fromEntries(entries.map(({ name }) => [name, { streamInterpreter: remote.interpreters[name] ?? incomplete(name), remote: () => stateOf(name) }])),
    entries () {
      const known = states()
      return Object.fromEntries(entries.map(({ name }) => {
        const { title, description } = known.get(name) ?? {}
        return [name, { agent: 'a2a', ...title !== undefined && { display_name: title }, ...description !== undefined && description !== '' && { description } }]
      }))
    },
    problems: () => entries.flatMap(({ name }) => {
      const { ready, problem } = stateOf(name)
      if (problem === undefined) return ready ? [] : [{ name, reason: 'its card was not read yet' }]
      return [{ name, reason: ready ? `its card could not be read again, and the old one serves: ${problem}` : `it cannot be asked: ${problem}` }]
    }),
    async follow (signal, onChange) {
      for (let tries = 1; !signal.aborted && complete.length > 0; tries++) {
        const before = JSON.stringify(agents.entries())
        await remote.load(signal)
        if (signal.aborted) return
        if (JSON.stringify(agents.entries()) !== before) onChange()
        if (remote.states().every(({ isReady }) => isReady)) return
        await delay(backoff(tries, RETRY), undefined, { signal, ref: false }).catch(() => {})
      }
    },
    close: async () => { await remote.close() }
  }
  return agents
}

/** @throws A2A_AGENTS for entries of a program that those of a file could not have */
export function checkAgents ({ switches: { a2a_agents: entries }, vacs, serverNames }: Settings): void {
  const [problem] = agentProblems(entries ?? [], { vacs: Object.keys(vacs), servers: serverNames })
  if (problem === undefined) return
  const { index, path, message, hint } = problem
  throw new AgentsError([`a2a_agents.${index}`, ...path].join('.'), [message, hint].filter(Boolean).join('; '))
}

/** The names of the VACs, with those of agents of other services. */
export function vacNames ({ vacs, switches: { a2a_agents: agents } }: Settings): string[] {
  return [...Object.keys(vacs), ...agents?.map(({ name }) => name) ?? []]
}

/** The origins at which this service is reached: an agent there would ask itself. */
export function ownOrigins (app: FastifyInstance, publicUrl: string | null | undefined): string[] {
  const own = publicUrl != null && URL.canParse(publicUrl) ? [new URL(publicUrl).origin] : []
  if (!app.server.listening) return own
  const hosts = (app.addresses() as AddressInfo[]).flatMap(listening => {
    const isAll = listening.address === '0.0.0.0' || listening.address === '::'
    const all = isAll ? Object.values(networkInterfaces()).flatMap(found => found ?? []) : [listening]
    return [...all.map(({ address }) => hostOf(address)), 'localhost'].map(host => `http://${host}:${listening.port}`)
  })
  return [...own, ...hosts.flatMap(text => URL.canParse(text) ? [new URL(text).origin] : [])]
}

function hostOf (address: string): string { return address.includes(':') ? `[${address}]` : address }

/** Answers for an agent whose entry lacks a variable: without a credential it would refuse, and the message is sent. */
function incomplete (name: string): Interpreter {
  return async () => { throw new AgentNotConfiguredError(JSON.stringify(name)) }
}

const UNSET = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g

function unsetVariables (entry: A2aAgentConfig): string[] { return JSON.stringify(entry).match(UNSET) ?? [] }

function toAgent ({ name, url, auth = {}, headers, timeout, skill, extensions, protocol, verify, keys }: A2aAgentConfig, folder: string): RemoteAgent {
  return {
    name,
    url,
    auth: Object.fromEntries(Object.entries(auth).map(([scheme, credential]) => [scheme, toCredential(credential, folder)])),
    headers,
    timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
    skill,
    extensions,
    protocol: protocol === undefined ? undefined : Number(protocol) === 1 ? '1.0' : '0.3',
    verify,
    keys: typeof keys === 'string' && !/^https?:\/\//i.test(keys) ? resolve(folder, keys) : keys
  }
}

/** One of the forms, which agentProblems checks. */
function toCredential (given: NonNullable<A2aAgentConfig['auth']>[string], folder: string): Credential {
  const { api_key: apiKey, token, username = '', password = '', client_id: clientId, client_secret: clientSecret = '', token_url: tokenUrl, scope } = given
  if (apiKey !== undefined) return { apiKey }
  if (token !== undefined) return { token }
  const { cert, key = '', ca } = given
  if (cert !== undefined) return { cert: pemOrPath(cert, folder), key: pemOrPath(key, folder), ca: ca === undefined ? undefined : pemOrPath(ca, folder) }
  return clientId === undefined ? { username, password } : { clientId, clientSecret, tokenUrl, scope }
}

function pemOrPath (text: string, folder: string): string { return text.trimStart().startsWith('-----BEGIN ') ? text : resolve(folder, text) }
