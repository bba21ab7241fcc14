export { mcpServerPlugin, mcpServerPlugin as default } from './plugin.js'
export type { Limits, McpServerOptions } from './options.js'
export type { ProtectedResource } from './protected-resource.js'
export { RpcError, type CodeName } from './protocol/rpc.js'
export { vacTools } from './sources/vac-tools.js'
export type { VacToolsOptions } from './sources/vac-tools.js'
export { vacResources } from './sources/vac-resources.js'
export { serveStdio } from './stdio/serve-stdio.js'
export type { StdioOptions, StdioServer } from './stdio/serve-stdio.js'
export { defineTools } from './sources/local-tools.js'
export type { LocalTool } from './sources/local-tools.js'
export { LOG_LEVELS } from './tool-source.js'
export type {
  Answer, CallContext, CallProgress, ClientCapabilities, Completion, CompletionArgument, CompletionRef, Era, ListKind, LogLevel, LogMessage,
  PromptDefinition, PromptResult, PromptSource, ServerRequest, Relay, ResourceContents, ResourceDefinition, ResourceSource, TaskSource, TaskSupport, TemplateDefinition,
  ToolDefinition, ToolResult, ToolSource
} from './tool-source.js'
export { AskRefusedError, AskTimeoutError, CannotAskError, InsufficientScopeError, McpServerOptionsError } from './errors.js'
