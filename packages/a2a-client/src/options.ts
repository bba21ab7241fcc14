import type { Resolve } from '@polyvac/core/plugin'
import type { Credential } from './auth/credentials.js'
import { VERSIONS, type Version } from './card/agent-card.js'
import { isWebAddress, keysProblem, VERIFICATIONS, type Jwk, type Verification } from './card/signature.js'
import { RemoteAgentOptionsError } from './errors.js'
import type { RemoteTasks } from './interpreter/remote-tasks.js'

/** An agent that answers over A2A. */
export interface RemoteAgent {
  /** The name of its VAC here. */
  readonly name: string
  /** Its address, or that of its card. It may be in a private network, and plain http. */
  readonly url: string
  /** Credentials by the names of the schemes in its card. */
  readonly auth?: Readonly<Record<string, Credential>> | undefined
  /** Sent with each request to the origin of `url`, also for the card. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Longest time for one answer, in ms; then its task is canceled. Default one hour. */
  readonly timeoutMs?: number | undefined
  /** The id of its skill that every message is for. Default: it chooses. */
  readonly skill?: string | undefined
  /** Extensions of A2A that messages name. */
  readonly extensions?: readonly string[] | undefined
  /** The version of A2A to use. Default: 1.0, or 0.3 where its card has no other. */
  readonly protocol?: Version | undefined
  /**
   * Which cards have to have a valid signature: all (`require`), those that are signed (`if-present`), or none (`off`).
   * Default: all where there are `keys`, and none otherwise.
   */
  readonly verify?: Verification | undefined
  /** The public keys that sign its card: JWKs with a `kid`, or the path or address of a JWK set. */
  readonly keys?: string | readonly Jwk[] | undefined
}

export interface RemoteAgentsOptions {
  readonly agents: readonly RemoteAgent[]
  /**
   * Keeps contexts of conversations, and the remote tasks of calls that have no log. Default: the memory of this
   * process.
   */
  readonly tasks?: RemoteTasks | undefined
  /**
   * Origins of this service, such as `https://agents.example.com`: an agent there is refused. A function is called for
   * each card, for those that are known only once the service listens.
   */
  readonly ownOrigins?: readonly string[] | (() => readonly string[]) | undefined
  /** Resolves names of hosts. Default: as the operating system does. */
  readonly resolve?: Resolve | undefined
}

export const DEFAULT_TIMEOUT_MS = 3_600_000
const MAX_TIMEOUT_MS = 24 * 3_600_000

/** @throws REMOTE_AGENT_OPTIONS */
export function checkAgents (agents: readonly RemoteAgent[]): void {
  const names = new Set<string>()
  for (const agent of agents) {
    const { name, url, auth = {}, timeoutMs = DEFAULT_TIMEOUT_MS, protocol, keys } = agent
    const verify = verificationOf(agent)
    const refuse = (problem: string): never => { throw new RemoteAgentOptionsError(JSON.stringify(name ?? null), problem) }
    if (typeof name !== 'string' || name === '') refuse('`name` is missing')
    if (names.has(name)) refuse('another entry has this name; give it a different one')
    names.add(name)
    const isWeb = typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    if (!isWeb) refuse('`url` is not an address of http or https; give that of the agent or of its card')
    if (new URL(url).username !== '') refuse('`url` has a user name; use `auth` instead')
    if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) refuse(`\`timeoutMs\` is ${timeoutMs}; give 1 to ${MAX_TIMEOUT_MS}`)
    if (protocol !== undefined && !VERSIONS.includes(protocol)) refuse(`\`protocol\` is ${JSON.stringify(protocol)}; give ${VERSIONS.join(' or ')}`)
    if (!VERIFICATIONS.includes(verify)) refuse(`\`verify\` is ${JSON.stringify(verify)}; give ${VERIFICATIONS.join(', ')}`)
    if (verify !== 'off' && keys === undefined) refuse(`\`verify\` is ${verify}, and there are no keys; add \`keys\``)
    const isPlace = typeof keys === 'string' && keys !== '' && (!isWebAddress(keys) || URL.canParse(keys))
    const problem = keys === undefined || isPlace ? undefined : keysProblem(keys)
    if (problem !== undefined) refuse(`\`keys\`: ${problem}`)
    if (Object.values(auth).filter(credential => 'cert' in credential).length > 1) refuse('`auth` has two certificates, and a connection has one; leave one out')
    for (const [scheme, credential] of Object.entries(auth)) {
      const { tokenUrl } = credential as { tokenUrl?: unknown }
      if (tokenUrl !== undefined && !URL.canParse(String(tokenUrl))) refuse(`\`auth.${scheme}.tokenUrl\` is not an address`)
    }
  }
}

/** Keys without `verify` are there to be used. */
export function verificationOf ({ verify, keys }: RemoteAgent): Verification { return verify ?? (keys === undefined ? 'off' : 'require') }
