export { mcpServerPlugin, mcpServerPlugin as default } from './plugin.js'
export type { Limits, McpServerOptions } from './options.js'
export type { ProtectedResource } from './protected-resource.js'
export { RpcError, type CodeName } from './rpc.js'
export { LOG_LEVELS } from './tool-source.js'
export type {
  Answer, CallContext, CallProgress, ClientCapabilities, Completion, CompletionArgument, CompletionRef, Era, ListKind, LogLevel, LogMessage,
  PromptDefinition, PromptResult, PromptSource, Question, ResourceContents, ResourceDefinition, ResourceSource, TaskSupport, TemplateDefinition,
  ToolDefinition, ToolResult, ToolSource
} from './tool-source.js'
export { AskRefusedError, AskTimeoutError, CannotAskError, InsufficientScopeError, McpServerOptionsError } from './errors.js'
