export { createHost, version } from './create-host.js'
export type { PolyvacHost } from './create-host.js'
export type { HostOptions, IndexingProgress } from './host-options.js'
export { openApiOf } from './openapi.js'
