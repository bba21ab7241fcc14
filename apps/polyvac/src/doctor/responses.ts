import { isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { ok, problem, unchecked, type Finding } from './finding.js'
import { QUESTION, statusOf } from './runs.js'
import { describeFailure, MAX_REPLY_BYTES, type HttpClient } from '../client/http-client.js'

const CHECK = 'responses'
const PATH = 'openai/v1/responses'
const REMEDY = 'let the proxy pass POST and event streams below /openai/v1/, and read the log of the service'

/**
 * Whether the Responses API of OpenAI begins a streamed response. The service keeps none of it, so the first model is
 * stopped when the connection is closed after the first event.
 */
export async function * checkResponses (client: HttpClient): AsyncGenerator<Finding> {
  const list = await client.send('openai/v1/models')
  const [model] = isRecord(list.json) && Array.isArray(list.json.data) ? list.json.data.filter(isRecord).map(({ id }) => id) : []
  if (list.status === 401 || list.status === 403) yield checkChallenge(CHECK, list)
  else if (list.status !== 200 || typeof model !== 'string') yield unchecked(CHECK, `GET /openai/v1/models answers ${statusOf(list)} without a model`)
  else yield await checkResponse(client, model)
}

async function checkResponse (client: HttpClient, model: string): Promise<Finding> {
  const { status, headers, pieces } = await client.open(PATH, { headers: { accept: 'text/event-stream' }, body: { model, input: QUESTION, stream: true, store: false } })
  let text = ''
  let failure = 'the stream ended'
  try {
    for await (const piece of pieces) {
      text += piece.text
      if (text.includes('response.created') || text.length > MAX_REPLY_BYTES) break
    }
  } catch (err) {
    failure = describeFailure(err)
  }
  if (status === 401 || status === 403) return checkChallenge(CHECK, { status, headers, text, json: undefined, isCut: false })
  if ([404, 405, 501].includes(status)) return unchecked(CHECK, `POST /${PATH} answers ${status}: the service does not serve it`)
  if (status !== 200 || headers.get('content-type')?.startsWith('text/event-stream') !== true) return problem(CHECK, `POST /${PATH} answers ${status} without events`, REMEDY)
  return text.includes('response.created')
    ? ok(CHECK, `a response of ${model} is begun, and not kept`)
    : problem(CHECK, `POST /${PATH} sends no response.created (${failure})`, REMEDY)
}
