// The public API of @polyvac/core: every export here is public, documented and follows semantic versioning.
// protocol.ts exports more of it for protocols; plugin.ts exports what only Polyvac's own packages share.
export { createVacs } from './vacs.js'
export type { Vacs, VacsOptions, VacParts } from './vacs.js'
export type {
  Interpreter, InterpreterExtra, InterpreterCallback, InterpreterChunk, InterpreterResult, FinalAnswer, InputRequired, AuthRequired
} from './interpreter.js'
export { isAnswer } from './interpreter-chunk.js'
export type { Vac, VacCall, Chunk, Progress, ChatTurn, Protocol, Principal } from './vac.js'
export type {
  CallTool, ListedTool, ListTools, ToolAccess, ToolCallOptions, ToolCallResult, ToolContent, ToolResource
} from './tools.js'
export { guardProcess, type GuardOptions } from './stray-errors.js'
export type { InterpreterLog, Log, LogMethod } from './log.js'
export { collect } from './run-interpreter.js'
export type { RunLimits } from './run-limits.js'
export type { Memory, MemoryQuery, MemoryDocument, Hit } from './memory.js'
export type { Authenticate, AuthenticationScheme } from './authenticate.js'
export { Answer, AnswerArtifact, AnswerPart, SourceDocument, ChatHistory, ErrorBody } from './schemas.js'
export { VacInfo } from './vac-info.js'
export { normaliseHistory } from './history.js'
export { parseConfig } from './vac-config.js'
export { readConfig, type ReadConfigOptions } from './read-config.js'
export type { Config, ConfigOptions } from './vac-config.js'
export { ConfigError } from './config-problem.js'
export type { ConfigProblem, RefusedAuth } from './config-problem.js'
export { VacConfigFile, VacConfig, ServiceConfig, McpServerConfig, MemoryEntry } from './config-schema.js'
export { loadInterpreters, type Interpreters } from './interpreter-module.js'
export { workerInterpreter, type WorkerInterpreter, type WorkerOptions } from './worker-interpreter.js'
