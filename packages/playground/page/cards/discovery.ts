import { signal } from '@preact/signals'
import { mcpRequest } from '../protocols/mcp-request.js'
import { endSession, initialize, SESSION_REVISION } from '../protocols/mcp-session.js'
import { send, SIGN_IN, type SendRequest } from '../requests/exchange.js'
import { ownUrl } from '../requests/own-url.js'
import { isObject } from '../shared/fields.js'
import { failureText, settings } from '../shared/settings.js'
import { checkAgentCard, checkCatalog, checkKeys, problem, type Finding } from './discovery-checks.js'

/** A document of the service, and what the page found in it. */
export interface CheckedDocument {
  readonly id: string
  readonly title: string
  readonly path: string
  readonly state: 'ok' | 'warning' | 'problem' | 'absent' | 'refused'
  readonly findings: readonly Finding[]
  readonly value?: unknown
}
type Fields = Readonly<Record<string, unknown>>
/** Reads a document, and checks it. */
type Check = (value: Fields, status: number) => Promise<readonly Finding[]> | readonly Finding[]

export const documents = signal<readonly CheckedDocument[]>([])
export const isChecking = signal(false)

async function read (request: Omit<SendRequest, 'as'>): Promise<{ readonly status: number, readonly value: unknown }> {
  const sent = await send({ as: 'json', ...request })
  const value = await sent.json()
  return { status: sent.exchange.status ?? 0, value }
}

async function checkDocument (id: string, title: string, request: Omit<SendRequest, 'as' | 'label' | 'protocol'>, check: Check, statuses: readonly number[] = [200]): Promise<CheckedDocument> {
  let path = request.path
  try {
    path = ownUrl(path).pathname
    const { status, value } = await read({ protocol: 'http', label: title, ...request })
    if ([404, 501].includes(status)) return { id, title, path, state: 'absent', findings: [] }
    if ([401, 403].includes(status)) return { id, title, path, state: 'refused', findings: [problem(`${failureText(value, status)}; ${SIGN_IN}`)] }
    if (!statuses.includes(status) || !isObject(value)) return { id, title, path, state: 'problem', findings: [problem(failureText(value, status))], value }
    const findings = await check(value, status)
    const state = (['problem', 'warning'] as const).find(kind => findings.some(finding => finding.kind === kind)) ?? 'ok'
    return { id, title, path, state, findings, value }
  } catch (err) {
    return { id, title, path, state: 'problem', findings: [problem((err as Error).message)] }
  }
}

/** Reads every discovery document of the service, and checks it against what the routes answer. */
export async function checkDocuments (): Promise<void> {
  if (isChecking.value) return
  isChecking.value = true
  documents.value = []
  const add = async (...document: Parameters<typeof checkDocument>): Promise<CheckedDocument> => {
    const checked = await checkDocument(...document)
    documents.value = [...documents.value, checked]
    return checked
  }
  try {
    const { card, mcp, openapi, ready, vac } = settings.value.routes
    if (ready !== null) await add('ready', 'Readiness', { path: ready }, checkReadiness, [200, 503])
    if (card !== null) {
      const nextTo = (name: string): string => ownUrl(name, ownUrl(card).href).pathname
      const keys = await add('jwks', 'Keys (jwks.json)', { path: nextTo('jwks.json') }, checkKeys)
      await add('agent', 'Older agent card (agent.json), for tasks/send', { path: nextTo('agent.json') }, value => checkAgentCard(value, keys.value))
      let newest: unknown
      for (const version of ['0.3', '1.0']) {
        newest = (await add(`card-${version}`, `Agent card of A2A ${version}`, { path: card, headers: { 'a2a-version': version } }, value => checkAgentCard(value, keys.value))).value
      }
      await add('catalog', 'Catalog (ai-catalog.json)', { path: nextTo('ai-catalog.json') }, value => checkCatalog(value, newest))
    }
    if (mcp !== null) {
      const { path, headers, body } = mcpRequest('server/discover', {}, {})
      await add('mcp', 'MCP server', { path, headers, body }, checkMcp)
    }
    if (openapi !== null) {
      await add('openapi', 'OpenAPI document', { path: openapi }, ({ openapi, paths }) => {
        const expected = vac === null ? [] : [ownUrl(vac).pathname]
        return [
          .../^3\./.test(String(openapi)) ? [] : [problem(`it has the version ${String(openapi)} of OpenAPI, and not 3`)],
          ...isObject(paths)
            ? expected.filter(path => !Object.keys(paths).some(known => path.endsWith(known))).map(path => problem(`it does not have ${path}, which answers`))
            : [problem('it has no paths')]
        ]
      })
    }
  } finally {
    isChecking.value = false
  }
}

function checkReadiness ({ reasons, left_out: leftOut, configuration }: Fields, status: number): readonly Finding[] {
  const listed = (list: unknown): Fields[] => Array.isArray(list) ? list.filter(isObject) : []
  return [
    ...listed(reasons).map(({ part, reason }): Finding => ({ kind: status === 200 ? 'warning' : 'problem', text: `${String(part)}: ${String(reason)}` })),
    ...listed(leftOut).map(({ vac, text }): Finding => ({ kind: 'warning', text: `${String(vac)}: ${String(text)}` })),
    ...listed(configuration).map(({ file, line, column, message, hint }): Finding =>
      ({ kind: 'problem', text: `${String(file)}:${String(line)}:${String(column)}  ${String(message)}${hint === undefined ? '' : `; ${String(hint)}`}` }))
  ]
}

/** The revisions that the MCP server names, and whether the last one with sessions answers. */
async function checkMcp ({ result }: Fields): Promise<readonly Finding[]> {
  const { supportedVersions, capabilities } = (isObject(result) ? result : {}) as Fields
  if (!Array.isArray(supportedVersions)) return [problem('server/discover names no supported version')]
  const { status, value, session } = await initialize({}).catch(() => ({ status: 0, value: undefined, session: '' }))
  if (session !== '') await endSession(session).catch(() => {})
  const answers = isObject(value) && isObject(value.result) ? value.result.protocolVersion : undefined
  return [
    ...isObject(capabilities) ? [] : [problem('server/discover names no capabilities')],
    { kind: 'ok', text: `server/discover answers; it names ${supportedVersions.join(', ')}` },
    answers === SESSION_REVISION || status === 0
      ? { kind: 'ok', text: `initialize answers with ${String(answers ?? 'an event stream')}` }
      : { kind: 'warning', text: `initialize of ${SESSION_REVISION} answers ${status}: clients of that revision cannot connect` }
  ]
}
