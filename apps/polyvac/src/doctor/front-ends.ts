import { randomUUID } from 'node:crypto'
import { isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { checkBeginning } from './beginning.js'
import { problem, unchecked, type Finding } from './finding.js'
import { firstVac, QUESTION, statusOf } from './runs.js'
import type { HttpClient } from '../client/http-client.js'

/** Whether a message stream of the AI SDK begins, as useChat reads it. The service keeps none of it. */
export async function * checkAiSdk (client: HttpClient): AsyncGenerator<Finding> {
  const check = 'ai sdk'
  const vac = await firstVac(client, check)
  yield typeof vac !== 'string'
    ? vac
    : await checkBeginning(client, {
      check,
      path: `ai/${encodeURIComponent(vac)}`,
      body: { messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: QUESTION }] }], store: false },
      begins: 'start',
      text: `a message of ${vac} is begun, and not kept`,
      header: ['x-vercel-ai-ui-message-stream', 'v1']
    })
}

/** Whether the agents of AG-UI are listed as CopilotKit reads them, and a run of the first one begins. */
export async function * checkAgUi (client: HttpClient): AsyncGenerator<Finding> {
  const check = 'ag-ui'
  const list = await client.send('ag-ui/info')
  const agents = list.status === 200 && isRecord(list.json) ? list.json.agents : undefined
  if (list.status === 401 || list.status === 403) yield checkChallenge(check, list)
  else if (agents === undefined) yield unchecked(check, `GET /ag-ui/info answers ${statusOf(list)} without agents`)
  else if (!isRecord(agents) || !Object.values(agents).every(isRecord)) {
    yield problem(check, 'GET /ag-ui/info lists its agents in another form than CopilotKit reads', 'let agents be an object that has an object for each name')
  } else {
    const [agent] = Object.keys(agents)
    yield agent === undefined ? unchecked(check, 'GET /ag-ui/info lists no agent') : await checkRun(client, check, agent)
  }
}

async function checkRun (client: HttpClient, check: string, agent: string): Promise<Finding> {
  const name = encodeURIComponent(agent)
  return await checkBeginning(client, {
    check,
    path: `ag-ui/${name}`,
    // earlier versions need the empty lists
    body: { threadId: randomUUID(), runId: randomUUID(), protocolVersion: '1.0', messages: [{ id: '1', role: 'user', content: QUESTION }], tools: [], context: [], state: {}, forwardedProps: {} },
    begins: 'RUN_STARTED',
    text: `a run of ${agent} is begun`,
    async leave (headers) {
      // what is kept goes on without its reader
      const [run, conversation] = ['x-run-id', 'x-conversation-id'].map(name => encodeURIComponent(headers.get(name) ?? ''))
      if (run === '') return
      await client.send(`ag-ui/agent/${name}/stop/${run}`, { body: {} })
      await client.send(`vac/${name}/runs/${run}`, { method: 'DELETE' })
      await client.send(`vac/${name}/conversations/${conversation}`, { method: 'DELETE' })
    }
  })
}
