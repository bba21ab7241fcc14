// The public API of @polyvac/host: every export here is public and follows semantic versioning.
export { createHost, version } from './create-host.js'
export type { PolyvacHost } from './create-host.js'
export { HostConfigFile, parseConfig, readConfig, type HostConfig } from './config/read-config.js'
export { ServiceConfig } from './config/service-config.js'
export type { HostOptions, IndexingProgress } from './host-options.js'
export { openApiOf } from './routes/openapi.js'
