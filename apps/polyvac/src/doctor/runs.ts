import { isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { ok, problem, unchecked, type Finding } from './finding.js'
import type { HttpClient, WholeReply } from '../client/http-client.js'

const CHECK = 'runs'
/** What the checks ask that ask a VAC; they stop its answer. */
export const QUESTION = 'Is this service there? (a check of polyvac doctor)'
const REMEDY = 'let the proxy pass POST, DELETE, Location and event streams below /vac/, and read the log of the service'

/**
 * Whether an answer in the background is started, followed and deleted: the VAC begins to answer a question, and is
 * stopped.
 */
export async function * checkRuns (client: HttpClient): AsyncGenerator<Finding> {
  const vac = await firstVac(client, CHECK)
  yield typeof vac === 'string' ? await checkRun(client, `vac/${encodeURIComponent(vac)}`) : vac
}

/** The name of the first VAC; a finding where the service lists none. */
export async function firstVac (client: HttpClient, check: string): Promise<string | Finding> {
  const list = await client.send('vac')
  const [vac] = isRecord(list.json) && Array.isArray(list.json.vacs) ? list.json.vacs.filter(isRecord).map(({ name }) => String(name)) : []
  if (list.status === 401 || list.status === 403) return checkChallenge(check, list)
  return list.status === 200 && vac !== undefined ? vac : unchecked(check, `GET /vac answers ${list.status} without a VAC`)
}

async function checkRun (client: HttpClient, path: string): Promise<Finding> {
  const started = await client.send(path, { body: { user_input: QUESTION, background: true, store: false } })
  const id = isRecord(started.json) ? started.json.run_id : undefined
  if (started.status === 401 || started.status === 403) return checkChallenge(CHECK, started)
  if (started.status === 200 || started.status === 501) return unchecked(CHECK, `POST /${path} with background answers ${statusOf(started)}: the service has no runs`)
  if (started.status !== 202 || typeof id !== 'string') return problem(CHECK, `POST /${path} with background answers ${statusOf(started)}, not 202 with a run_id`, REMEDY)
  const run = `${path}/runs/${encodeURIComponent(id)}`
  const problems: string[] = []
  if (!started.headers.get('location')?.endsWith(`/${run}`)) problems.push('the 202 has no Location that names its run')
  try {
    const { status, headers, pieces } = await client.open(`${run}/stream`, { headers: { accept: 'text/event-stream' } })
    await pieces[Symbol.asyncIterator]().return?.()
    if (status !== 200 || headers.get('content-type')?.startsWith('text/event-stream') !== true) problems.push(`GET /${run}/stream answers ${status} without events`)
  } finally {
    const deleted = await client.send(run, { method: 'DELETE' })
    if (deleted.status !== 204) problems.push(`DELETE /${run} answers ${statusOf(deleted)}`)
  }
  return problems.length === 0 ? ok(CHECK, `an answer of /${path} in the background is started, followed and deleted`) : problem(CHECK, problems.join(', '), REMEDY)
}

/** The status of a reply, with the code of its error. */
export function statusOf ({ status, json }: WholeReply): string {
  const code = isRecord(json) && isRecord(json.error) ? json.error.code : undefined
  return typeof code === 'string' ? `${status} ${code}` : String(status)
}
