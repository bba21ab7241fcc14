// For the command polyvac only: what it uses of the host besides the public API. Private, no semantic versioning.
import { createVacs, type Vac, type VacConfig } from '@polyvac/core'
import type { checkModel as check } from '@polyvac/documents/model'
export { createHost } from './create-host.js'
export type { HostOptions, IndexingProgress, Settings } from './host-options.js'
export { toSettings } from './host-options.js'
export { parseConfig, readConfig, type HostConfig } from './config/read-config.js'
export type { ServiceConfig } from './config/service-config.js'
export { exampleQuestions, questionBody } from './example-question.js'
export { gatewayProblems, openGateway, serversOf } from './gateway.js'
export { checkAddress, listen } from './guards/listen.js'
export { GRPC_HOST, isOn, loadPlugin, PROTOCOLS } from './protocols.js'
export { shownUrl } from './remote-agents.js'
export { openApiOf } from './routes/openapi.js'
export { isDatabase } from './tasks/host-tasks.js'
export { migrateDatabase } from './tasks/open-database.js'
export { isTelemetryWanted, startTelemetry } from './telemetry/open-telemetry.js'
export type { Gateway, McpServerConfig, ServerItem } from '@polyvac/mcp-gateway'
export type McpServerModule = typeof import('@polyvac/mcp-server')

/** `checkModel` of @polyvac/documents, which is loaded for it. */
export async function checkModel (...args: Parameters<typeof check>): ReturnType<typeof check> {
  return await (await import('@polyvac/documents/model')).checkModel(...args)
}

/** A VAC that a language model answers, found as for `model` of an entry; @polyvac/documents is loaded for it. */
export async function modelVac (entry: Pick<VacConfig, 'model' | 'openai'>): Promise<Vac> {
  const { openaiInterpreter } = await import('@polyvac/documents/model')
  return createVacs({ vacs: { model: entry }, streamInterpreter: openaiInterpreter() }).get('model')
}
