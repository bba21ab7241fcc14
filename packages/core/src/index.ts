export { createVacs } from './vacs.js'
export type { Vacs, VacsOptions, VacParts } from './vacs.js'
export type { Interpreter, InterpreterExtra, InterpreterCallback, InterpreterChunk, InterpreterResult, FinalAnswer, InputRequired } from './interpreter.js'
export { RESERVED_EXTRA } from './interpreter.js'
export { isAnswer } from './vac.js'
export type { Vac, VacCall, Chunk, Progress, ChatTurn, Protocol, Principal, Log, CallTool } from './vac.js'
export { MEMORY_DEFAULTS } from './memory.js'
export type { Memory, MemoryQuery, MemoryDocument, Hit } from './memory.js'
export { Answer, SourceDocument, ChatHistory, ErrorBody } from './schemas.js'
export { normaliseHistory, contentText, isRole } from './history.js'
export {
  SKILLS, skillsOf, findSkill, nearestSkill, inputProblems, QueryInput, StreamInput, StreamSettings, MemorySearchInput, QueryResult, StreamResult,
  MemorySearchResult
} from './skills.js'
export type { Skill, SkillKind } from './skills.js'
export { runInterpreter, collect, RUN_LIMITS } from './run-interpreter.js'
export type { Run, RunLimits } from './run-interpreter.js'
export { readConfig, parseConfig, isModulePath } from './vac-config.js'
export type { Config, ConfigOptions } from './vac-config.js'
export { ConfigError } from './config-problem.js'
export type { ConfigProblem } from './config-problem.js'
export { VacConfigFile, VacConfig, ServiceConfig, McpServerConfig, MemoryEntry } from './config-schema.js'
export { sendEvents, sendText, eventText, registerStreams, streamRoute } from './send-stream.js'
export type { Encoding, EventEncoding } from './send-stream.js'
export { Stop, type StopSignal } from './stop.js'
export { authenticateCallers, type Authenticate } from './authentication.js'
export { Leaving } from './leaving.js'
export { OpenStreams, type OpenStream } from './open-streams.js'
export { schemaValidator, problemsOf, InvalidRequestError, MAX_PROBLEMS, NOT_BLANK, type RequestProblem } from './validation.js'
export { failureOf, retryAfter, type Failure } from './error-body.js'
export { isTooDeep, MAX_BODY_DEPTH } from './body-depth.js'
export { workerInterpreter, type WorkerInterpreter, type WorkerOptions } from './worker-interpreter.js'
export { loadInterpreters, moduleUrl, type Interpreters } from './interpreter-module.js'
export { nearest } from './nearest.js'
export {
  VacNotFoundError, VacTimeoutError, VacInterpreterFailedError, VacInvalidResultError, VacBufferFullError, VacBusyError,
  CallAbortedError, ShuttingDownError, InvalidVacNameError, InvalidVacsError, InterpreterModuleError, BodyTooDeepError,
  InvalidHistoryError, InvalidPrincipalError, UnauthenticatedError
} from './errors.js'
