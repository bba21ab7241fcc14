// The public API of @polyvac/core: every export here is public, documented and follows semantic versioning.
// protocol.ts exports more of it for protocols; plugin.ts exports what only Polyvac's own packages share.
export { createVacs } from './registry/vacs.js'
export type { ApprovalRecords } from './approvals/approval-store.js'
export type { Vacs, VacsOptions, VacParts } from './registry/vacs.js'
export type {
  Interpreter, InterpreterExtra, InterpreterCallback, InterpreterChunk, InterpreterResult, FinalAnswer, InputRequired, AuthRequired
} from './vac/interpreter.js'
export type {
  AnsweredTurn, BegunTurn, Conversation, ConversationExport, ConversationHead, Conversations, ConversationTurn, LocatedConversation, TurnChange, TurnFile, TurnHistory,
  TurnItem, TurnPlace, TurnQuestion, TurnsQuery, TurnTask
} from './vac/conversations.js'
export type { RunCaller, RunState } from './vac/run-caller.js'
export type { LatestRun, NewRun, Run, RunItem, RunQuery, RunReading, Runs, RunTurn, StartedRun } from './vac/runs.js'
export { isAnswer, isStep } from './vac/chunk.js'
export { Step } from './vac/step.js'
export type { InterpreterStep, SpanInput, StepKind, StepView } from './vac/step.js'
export type { Vac, VacCall, Chunk, Progress, ChatTurn, Protocol, Principal, RemoteState } from './vac/vac.js'
export type {
  CallTool, ListedTool, ListTools, ToolAccess, ToolCallOptions, ToolCallResult, ToolContent, ToolResource
} from './vac/tools.js'
export type { CallAgent, ListAgents, ListedAgent } from './vac/agents.js'
export type { FunctionContext, FunctionDefinition, FunctionTool, FunctionTools } from './vac/tools.js'
export { defineTools, type LocalTool, type ToolContext } from './tools/define-tools.js'
export type { Checked, StandardSchema, ToolSchema } from './tools/tool-schema.js'
export { guardProcess, type GuardOptions } from './interpreter/stray-errors.js'
export type { InterpreterLog, Log, LogMethod } from './basics/log.js'
export { collect } from './interpreter/run-interpreter.js'
export type { RunLimits } from './interpreter/run-limits.js'
export type { ExtraMemory, Memory, MemoryQuery, MemoryDocument, Hit } from './vac/memory.js'
export type { Authenticate, AuthenticationScheme } from './access/authenticate.js'
export { Answer, AnswerArtifact, AnswerPart, SourceDocument, ChatHistory, ErrorBody } from './vac/schemas.js'
export { VacInfo } from './vac/vac-info.js'
export { normaliseHistory } from './vac/history.js'
export { parseConfig } from './config/vac-config.js'
export { readConfig, type ReadConfigOptions } from './config/read-config.js'
export type { Config } from './config/vac-config.js'
export type { ConfigOptions } from './config/service-section.js'
export { ConfigError } from './config/problem.js'
export type { ConfigProblem, RefusedAuth } from './config/problem.js'
export { VacConfigFile, VacConfig, McpServerConfig, MemoryEntry } from './config/schema.js'
export { loadInterpreters, type Interpreters } from './interpreter/module.js'
export { echoInterpreter } from './interpreter/echo-interpreter.js'
export { workerInterpreter, type WorkerInterpreter, type WorkerOptions } from './interpreter/worker-interpreter.js'
