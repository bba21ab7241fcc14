// For the command polyvac only: what it uses of the host beside the public API. Private, no semantic versioning.
export { createHost } from './create-host.js'
export type { HostOptions, IndexingProgress, Settings } from './host-options.js'
export { BUILT_IN, toSettings } from './host-options.js'
export { gatewayProblems, openGateway, serversOf } from './gateway.js'
export { checkAddress, listen } from './guards/listen.js'
export { GRPC_HOST, isOn, loadPlugin, PROTOCOLS } from './protocols.js'
export { openApiOf } from './routes/openapi.js'
export { isDatabase } from './tasks/host-tasks.js'
export { migrateDatabase } from './tasks/open-database.js'
export { isTelemetryWanted, startTelemetry } from './telemetry/open-telemetry.js'
export type { Gateway, McpServerConfig, ServerItem } from '@polyvac/mcp-gateway'
export type McpServerModule = typeof import('@polyvac/mcp-server')
