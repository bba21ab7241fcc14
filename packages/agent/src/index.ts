// The public API of @polyvac/agent: every export here is public and follows semantic versioning.
export { agentInterpreter } from './agent-interpreter.js'
export { ownToolNames } from './own-tools.js'
export type { AgentOptions } from './options.js'
export { AgentOptionError, NoAnswerError, NothingToAnswerWithError, ToolsError } from './errors.js'
