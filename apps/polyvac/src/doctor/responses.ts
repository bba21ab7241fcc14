import { isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { checkBeginning } from './beginning.js'
import { unchecked, type Finding } from './finding.js'
import { QUESTION, statusOf } from './runs.js'
import type { HttpClient } from '../client/http-client.js'

const CHECK = 'responses'

/** Whether the Responses API of OpenAI begins a streamed response. The service keeps none of it. */
export async function * checkResponses (client: HttpClient): AsyncGenerator<Finding> {
  const list = await client.send('openai/v1/models')
  const [model] = isRecord(list.json) && Array.isArray(list.json.data) ? list.json.data.filter(isRecord).map(({ id }) => id) : []
  if (list.status === 401 || list.status === 403) yield checkChallenge(CHECK, list)
  else if (list.status !== 200 || typeof model !== 'string') yield unchecked(CHECK, `GET /openai/v1/models answers ${statusOf(list)} without a model`)
  else {
    const body = { model, input: QUESTION, stream: true, store: false }
    yield await checkBeginning(client, { check: CHECK, path: 'openai/v1/responses', body, begins: 'response.created', text: `a response of ${model} is begun, and not kept` })
  }
}
