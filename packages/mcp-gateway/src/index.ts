// The public API of @polyvac/mcp-gateway: every export here is public and follows semantic versioning.
export { mcpGatewayPlugin, mcpGatewayPlugin as default } from './plugin.js'
export { createGateway } from './gateway.js'
export type { Gateway } from './gateway.js'
export type { Listing, ServerItem } from './servers.js'
export type {
  GatewayToolSource, SourceContext, SourceItem, SourceResource, SourceResult, SourceTemplate, SourceTool
} from './tool-source/types.js'
export type { GatewayOptions } from './options.js'
export type { McpGatewayOptions } from './plugin-options.js'
export type { SignInOptions, SignInStore } from './sign-in-options.js'
export type { Log } from '@polyvac/core'
export { McpServerConfig } from '@polyvac/core'
export type { UpstreamState, UpstreamStatus } from './upstream/status.js'
export type { Upstream } from './upstream/upstream.js'
export type { CallProgress, ServerRequest } from '@polyvac/mcp-protocol'
export type { InputHandler, CallOptions, ToolResult } from './protocol/call-options.js'
export { CallBody, GatewayError, McpPrompt, McpResource, McpResourceTemplate, McpServerStatus, McpTool } from './schemas.js'
