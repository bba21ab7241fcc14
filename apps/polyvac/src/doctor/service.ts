import { setTimeout as delay } from 'node:timers/promises'
import { isRecord } from '@polyvac/core/plugin'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { describeFailure, type HttpClient, type WholeReply } from '../client/http-client.js'

/** Difference of clocks from which tokens and signatures may be refused. */
const MAX_CLOCK_SKEW_MS = 60_000
/** Time for MCP servers that are starting, and between two looks at them. */
const MAX_START_MS = 30_000
const LOOK_MS = 100

const NO_HTTP = 'check whether the port speaks HTTP, or needs https://'
const REMEDIES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'check the host name, and its DNS record',
  EAI_AGAIN: 'check the host name, and the DNS server of this machine',
  ECONNREFUSED: 'start the service, or check the port and the address that it binds',
  ECONNRESET: NO_HTTP,
  UND_ERR_SOCKET: NO_HTTP,
  HPE_INVALID_CONSTANT: NO_HTTP
}

/** Whether anything answers at the address: the other checks need that. */
export async function checkReachable (client: HttpClient): Promise<Finding> {
  try {
    const { status, headers } = await client.send('health')
    const location = headers.get('location')
    if (status < 300 || status >= 400 || location === null) return ok('reachable', `${client.base.href} answers`)
    const target = URL.canParse(location, client.base.href) ? new URL(location, client.base.href).origin : location
    return problem('reachable', `${status} redirects to ${target}${status < 307 ? '; clients then send POST as GET' : ''}`,
      'give clients the address after the redirect, and check that one')
  } catch (err) {
    const { cause } = err as { cause?: { code?: string } }
    const code = cause?.code ?? ''
    // OpenSSL names what it read in place of TLS by its version
    const remedy = REMEDIES[code] ?? (/^ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH)/.test(code)
      ? 'the port does not speak TLS: try http://'
      : /CERT|SSL|TLS/.test(code)
        ? 'renew the certificate, or trust its authority with NODE_EXTRA_CA_CERTS'
        : 'check that the process runs and its event loop is not blocked')
    return problem('reachable', `${client.base.href}: ${describeFailure(err)}`, remedy)
  }
}

/** @param startSignal ends the wait for MCP servers that are starting */
export async function * checkService (client: HttpClient, startSignal = AbortSignal.timeout(MAX_START_MS)): AsyncGenerator<Finding> {
  const health = await client.send('health')
  yield health.status === 200 ? ok('health', 'GET /health answers 200') : judgeStatus('health', health)
  const ready = await whenStarted(client, startSignal)
  const reasons = recordsOf(ready, 'reasons')
  if (ready.status === 200 && reasons.length === 0) yield ok('ready', 'GET /ready answers 200')
  else if (reasons.length === 0) yield judgeStatus('ready', ready)
  for (const { part, reason } of reasons) {
    const make = ready.status === 200 ? warning : problem
    yield make('ready', `${String(part)}: ${String(reason)}`, `repair ${String(part)}, then GET /ready again`)
  }
  // the text has the remedy of each reason
  for (const { vac, text } of recordsOf(ready, 'left_out')) yield { check: 'documents', level: 'warning', text: `${String(vac)}: ${String(text)}` }
  for (const { file, line, message, hint } of recordsOf(ready, 'configuration')) {
    yield warning('configuration', `${String(file)}:${String(line)}: ${String(message)}`, String(hint ?? 'polyvac check shows the line'))
  }
  const skew = Math.abs(Date.parse(health.headers.get('date') ?? '') - Date.now())
  if (Number.isNaN(skew)) yield unchecked('clock', 'responses have no Date header')
  else if (skew <= MAX_CLOCK_SKEW_MS) yield ok('clock', 'the clocks of both machines agree')
  else yield warning('clock', `the clocks differ by ${Math.round(skew / 1000)} s`, 'synchronise both machines with NTP: tokens expire by the clock')
}

/** What `/ready` has when no MCP server is starting any more, or the time is up. */
export async function whenStarted (client: HttpClient, startSignal = AbortSignal.timeout(MAX_START_MS)): Promise<WholeReply> {
  let ready = await client.send('ready')
  while (recordsOf(ready, 'reasons').some(isStarting) && !startSignal.aborted) {
    await delay(LOOK_MS, undefined, { signal: startSignal }).catch(() => {})
    ready = await client.send('ready')
  }
  return ready
}

function judgeStatus (check: string, { status }: WholeReply): Finding {
  if (status === 404) return unchecked(check, `the service has no /${check}`)
  const text = `GET /${check} answers ${status}`
  return status === 401 || status === 403 ? unchecked(check, `${text}; send a token with --header`) : problem(check, text, 'read the log of the service')
}

function recordsOf ({ json }: WholeReply, key: string): Array<Record<string, unknown>> {
  const list = isRecord(json) ? json[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}

function isStarting ({ part, reason }: Record<string, unknown>): boolean {
  return String(part).startsWith('mcp.') && String(reason).startsWith('is starting')
}
