// The public API of @polyvac/mcp-server: every export here is public and follows semantic versioning.
export { mcpServerPlugin, mcpServerPlugin as default } from './plugin.js'
export type { McpServerOptions, PublicLimits as Limits } from './options.js'
export type { ProtectedResource } from './protected-resource.js'
export { RpcError } from './protocol/rpc.js'
export { vacTools } from './sources/vac-tools.js'
export type { VacToolsOptions } from './sources/vac-tools.js'
export { vacResources } from './sources/vac-resources.js'
export { serveStdio } from './stdio/serve-stdio.js'
export type { StdioOptions, StdioServer } from './stdio/serve-stdio.js'
export { defineTools } from './sources/local-tools.js'
export type { LocalTool } from './sources/local-tools.js'
export type { Checked, StandardSchema, ToolSchema } from '@polyvac/core'
export type {
  CallContext, PromptArgument, PromptDefinition, PromptResult, PromptSource, Relay, ResourceContents,
  ResourceDefinition, ResourceSource, TaskSource, TaskSupport, TemplateDefinition, ToolDefinition, ToolResult,
  ToolSource
} from './tool-source.js'
export { LOG_LEVELS } from '@polyvac/mcp-protocol'
export type {
  CallProgress, ClientCapabilities, CodeName, Completion, CompletionArgument, CompletionRef, Era, InputRequests,
  InputResponse, InputResponses, ListKind, LogLevel, LogMessage, ServerRequest
} from '@polyvac/mcp-protocol'
export {
  AskRefusedError, AskTimeoutError, CannotAskError, InsufficientScopeError, McpServerOptionsError
} from './errors.js'
