export { createVacs, collect } from './vacs.js'
export type { Vacs, VacsOptions, VacParts } from './vacs.js'
export type { Interpreter, InterpreterExtra, InterpreterCallback, InterpreterChunk, InterpreterResult, FinalAnswer, InputRequired } from './interpreter.js'
export { RESERVED_EXTRA } from './interpreter.js'
export { isAnswer } from './vac.js'
export type { Vac, VacCall, Chunk, Progress, ChatTurn, Protocol, Principal, Log, CallTool } from './vac.js'
export { MEMORY_DEFAULTS } from './memory.js'
export type { Memory, MemoryQuery, MemoryDocument, Hit } from './memory.js'
export { Answer, SourceDocument, ChatHistory, ErrorBody } from './schemas.js'
export { normaliseHistory, contentText } from './history.js'
export { runInterpreter, RUN_LIMITS } from './run-interpreter.js'
export type { Run, RunLimits } from './run-interpreter.js'
export { readConfig, parseConfig, isModulePath } from './vac-config.js'
export type { Config, ConfigOptions } from './vac-config.js'
export { ConfigError } from './config-problem.js'
export type { ConfigProblem } from './config-problem.js'
export { VacConfigFile, VacConfig, ServiceConfig, McpServerConfig, MemoryEntry } from './config-schema.js'
export { nearest } from './nearest.js'
export {
  VacNotFoundError, VacTimeoutError, VacInterpreterFailedError, VacInvalidResultError, VacBufferFullError, VacBusyError,
  CallAbortedError, ShuttingDownError, InvalidVacNameError, InvalidVacsError, InterpreterModuleError, BodyTooDeepError,
  InvalidHistoryError
} from './errors.js'
