// HttpAgent of three versions of @ag-ui/client, as a front end uses it.
import { randomUUID } from 'node:crypto'
import { HttpAgent as Agent45 } from 'ag-ui-client-0-0-45'
import { HttpAgent as Agent59 } from 'ag-ui-client-0-0-59'
import { HttpAgent as Agent1 } from 'ag-ui-client-1'

const of = (HttpAgent, fields) => ({ ...fields, make: options => new HttpAgent(options) })

export const VERSIONS = [
  of(Agent45, { version: '0.0.45', interrupts: false, metadata: false, is1: false }),
  of(Agent59, { version: '0.0.59', interrupts: true, metadata: true, is1: false }),
  of(Agent1, { version: '1.0.0', interrupts: true, metadata: true, is1: true })
]

export async function run (agent, text, parameters = {}, onEvent = undefined) {
  if (text !== undefined) agent.addMessage({ id: randomUUID(), role: 'user', content: text })
  const events = []
  const { result } = await agent.runAgent(parameters, {
    onEvent ({ event }) {
      events.push(event)
      onEvent?.(event)
    }
  })
  const last = type => events.findLast(event => event.type === type)
  return { events, types: events.map(({ type }) => type), error: last('RUN_ERROR'), finished: last('RUN_FINISHED'), result }
}

export function textsOf (agent, role = 'assistant') {
  return agent.messages.filter(message => message.role === role && typeof message.content === 'string').map(({ content }) => content)
}
