// The public API of @polyvac/a2a-client: every export here is public, documented and follows semantic versioning.
export { remoteAgents } from './remote-agents.js'
export type { RemoteAgents, RemoteAgentState } from './remote-agents.js'
export type { RemoteAgent, RemoteAgentsOptions } from './options.js'
export type { Credential } from './auth/credentials.js'
export type { Jwk, Verification } from './card/signature.js'
export type { ClientCredentials } from './auth/client-token.js'
export type { ClientCertificate } from './http/client-certificate.js'
export { processTasks, type RemoteTaskRecord, type RemoteTasks } from './interpreter/remote-tasks.js'
