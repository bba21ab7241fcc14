import { send, SIGN_IN, type SendRequest } from '../requests/exchange.js'
import { ownUrl } from '../requests/own-url.js'
import { isObject } from '../shared/fields.js'
import { settings } from '../shared/settings.js'

export interface Finding { readonly kind: 'ok' | 'warning' | 'problem', readonly text: string }
type Fields = Readonly<Record<string, unknown>>

/** Addresses of one card, and entries of one catalog, that the page tries. */
const MAX_ADDRESSES = 8
const NO_TASK = '00000000-0000-4000-8000-000000000000'

export const problem = (text: string): Finding => ({ kind: 'problem', text })
const warning = (text: string): Finding => ({ kind: 'warning', text })
const ok = (text: string): Finding => ({ kind: 'ok', text })
const listOf = (value: unknown): Fields[] => Array.isArray(value) ? value.filter(isObject) : []

/** The public keys, without the parts of private ones. */
export function checkKeys ({ keys }: Fields): readonly Finding[] {
  const all = listOf(keys)
  if (all.length === 0) return [warning('it has no keys')]
  return all.some(key => 'd' in key) ? [problem('a key has its private part `d`: replace the key')] : [ok(`public keys: ${all.length}`)]
}

/** The fields of a card, its skills, its signature, and whether its addresses reach an agent of their version. */
export async function checkAgentCard (card: Fields, keys: unknown): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const missing = ['name', 'description', 'version', 'skills'].filter(key => card[key] === undefined)
  if (missing.length > 0) findings.push(problem(`it has no ${missing.join(', ')}: clients refuse it`))
  const skills = listOf(card.skills)
  const silent = skills.filter(({ description }) => typeof description !== 'string' || description.trim() === '').map(({ id, name }) => String(id ?? name))
  if (silent.length > 0) findings.push(warning(`skills without a description: ${silent.join(', ')}; clients choose a skill by its description`))
  else findings.push(ok(`it has ${skills.length} skills, each with a description`))
  findings.push(...checkSignatures(card, keys))
  const addresses = addressesOf(card)
  if (addresses.length === 0) findings.push(problem('it names no url'))
  for (const address of addresses.slice(0, MAX_ADDRESSES)) findings.push(await checkAddress(address, card))
  return findings
}

interface Address { readonly url: string, readonly binding: string, readonly version: string }

function addressesOf ({ url, supportedInterfaces, additionalInterfaces, protocolVersion, preferredTransport }: Fields): Address[] {
  const listed = [...listOf(supportedInterfaces), ...listOf(additionalInterfaces)].map(entry => ({
    url: String(entry.url), binding: String(entry.protocolBinding ?? entry.transport), version: String(entry.protocolVersion ?? protocolVersion ?? '0.3')
  }))
  // the card of the description names the address of the whole service
  const main = typeof url === 'string' ? [{ url, binding: protocolVersion === undefined ? 'service' : String(preferredTransport ?? 'JSONRPC'), version: String(protocolVersion ?? '') }] : []
  const all = [...main, ...listed].map(address => ({ ...address, version: address.version.split('.').slice(0, 2).join('.') }))
  return all.filter((one, i) => all.findIndex(other => JSON.stringify(other) === JSON.stringify(one)) === i)
}

async function checkAddress ({ url: text, binding, version }: Address, { name }: Fields): Promise<Finding> {
  const shown = `${text} (${binding}${version === '' ? '' : ` ${version}`})`
  if (!URL.canParse(text) || !/^https?:/.test(text)) return binding === 'GRPC' ? ok(`${shown} is not HTTP; the page does not try it`) : problem(`${text} is not an address of HTTP`)
  const url = new URL(text)
  if (url.origin !== location.origin) return warning(`it names ${text}, and this page reached the service at ${location.origin}: set \`publicUrl\`, unless both are one service`)
  const label = `check ${shown}`
  const base = text.replace(/\/$/, '')
  try {
    if (binding === 'service') {
      const { status, value } = await ask({ protocol: 'http', label, path: `${base}/.well-known/agent.json` })
      return status === 200 && value.name === name ? ok(`${shown} reaches the same agent`) : problem(`${shown} does not reach this agent: its card answers ${status}`)
    }
    if (binding === 'HTTP+JSON') {
      const { status, value } = await ask({ protocol: 'a2a', label, path: `${base}/tasks?pageSize=1`, headers: { 'a2a-version': version } })
      return status === 200 && Array.isArray(value.tasks) ? ok(`${shown} answers`) : reported(shown, status)
    }
    if (binding !== 'JSONRPC') return ok(`${shown}: the page does not try this binding`)
    const method = version === '0.3' ? 'tasks/get' : 'GetTask'
    const { status, value } = await ask({ protocol: 'a2a', label, path: text, headers: { 'a2a-version': version }, body: { jsonrpc: '2.0', id: 1, method, params: { id: NO_TASK } } })
    // -32001: the agent knows the method, and not the task
    if (!isObject(value.error) || value.error.code !== -32001) return reported(shown, status)
    const own = settings.value.routes.a2a
    return own !== null && url.pathname === ownUrl(own).pathname ? ok(`${shown} answers; the chat uses it too`) : ok(`${shown} answers`)
  } catch (err) {
    return problem(`${shown}: ${(err as Error).message}`)
  }
}

const reported = (shown: string, status: number): Finding => [401, 403].includes(status)
  ? warning(`${shown} answers ${status}: ${SIGN_IN}`)
  : problem(`${shown} answers ${status}, and not as A2A does`)

async function ask (request: Omit<SendRequest, 'as'>): Promise<{ readonly status: number, readonly value: Fields }> {
  const sent = await send({ as: 'json', ...request })
  const value = await sent.json()
  return { status: sent.exchange.status ?? 0, value: isObject(value) ? value : {} }
}

/** Whether the keys of the service have those that signed the card. The page does not verify signatures. */
function checkSignatures ({ signatures }: Fields, keys: unknown): readonly Finding[] {
  const known = new Set(listOf(isObject(keys) ? keys.keys : undefined).map(({ kid }) => kid))
  return listOf(signatures).map(({ protected: header }) => {
    try {
      const { kid } = JSON.parse(atob(String(header).replaceAll('-', '+').replaceAll('_', '/'))) as Fields
      return known.has(kid) ? ok(`the key ${String(kid)} of its signature is in jwks.json`) : problem(`the key ${String(kid)} of its signature is not in jwks.json`)
    } catch {
      return problem('its signature has no readable header')
    }
  })
}

/** Whether the cards of a catalog answer and name what the catalog names. */
export async function checkCatalog ({ entries }: Fields, card: unknown): Promise<readonly Finding[]> {
  const listed = listOf(entries)
  if (listed.length === 0) return [warning('it has no entries')]
  const findings: Finding[] = []
  for (const { url, displayName } of listed.slice(0, MAX_ADDRESSES)) {
    const text = String(url)
    if (!URL.canParse(text) || new URL(text).origin !== location.origin) {
      findings.push(warning(`${text} is not at ${location.origin}`))
      continue
    }
    const { status, value } = await ask({ protocol: 'http', label: `card of ${String(displayName)}`, path: text }).catch(() => ({ status: 0, value: {} as Fields }))
    if (status !== 200) findings.push(problem(`${text} answers ${status}`))
    else if (value.name !== displayName) findings.push(warning(`${text} has the name ${String(value.name)}, and the catalog ${String(displayName)}`))
    else if (isObject(card) && value.version !== card.version) findings.push(warning(`${text} has the version ${String(value.version)}, and the agent card ${String(card.version)}`))
    else findings.push(ok(`${text} is the card of ${String(displayName)}`))
  }
  return findings
}
