import { AGENT_CARD_PATH, TaskState } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { setImmediate as turn } from 'node:timers/promises'
import { interpreters } from './task-interpreters.mjs'

const CARD = {
  name: 'bench',
  description: 'The same work as next to it',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: []
}

/** The comparison of the task scenarios: the SDK of the protocol, set up as in its README, with tasks in memory. */
export async function a2aJsApp () {
  const requestHandler = new DefaultRequestHandler(CARD, new InMemoryTaskStore(), { execute, cancelTask: async () => {} })
  const app = express()
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  let server
  return {
    get server () { return server },
    listen: ({ port, host }) => new Promise((resolve, reject) => {
      server = app.listen(port, host, err => err === undefined ? resolve() : reject(err))
    }),
    close: () => new Promise(resolve => {
      server.close(resolve)
      server.closeAllConnections()
    })
  }
}

async function execute ({ userMessage, taskId, contextId }, bus) {
  const { work } = userMessage.metadata
  const question = userMessage.parts[0].content.value
  const publishText = (value, append) => bus.publish(AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact: { artifactId: 'response', name: 'response', description: '', parts: [textPart(value)], metadata: undefined, extensions: [] },
    append,
    lastChunk: false,
    metadata: undefined
  }))
  bus.publish(AgentEvent.task({
    id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata: undefined
  }))
  if (work === 'instant') {
    publishText((await interpreters.instant(question)).answer, false)
  } else {
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_WORKING), metadata: undefined }))
    let append = false
    for await (const chunk of interpreters[work](question)) {
      publishText(chunk, append)
      // the SDK clones the stored task with every event: 200 MB would take forever, so a block replaces the last one
      if (work === 'flood') await turn()
      else append = true
    }
  }
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_COMPLETED), metadata: undefined }))
  bus.finished()
}

function status (state) {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function textPart (value) {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
