import { createError } from '@polyvac/core/basics'

export const InterpreterCauseError = createError<[string, string]>('VAC_INTERPRETER_FAILED',
  'the interpreter of the VAC %s failed: %s', 500)
export const UsageError = createError<[string]>('USAGE', '%s', 500)
export const ServiceError = createError<[string, string]>('SERVICE_FAILED',
  'the service %s: %s', 500)
export const SessionFileError = createError<[string, string]>('SESSION_FILE',
  'the session %s cannot be read: %s; export it again in the playground', 500)
export const NoServersError = createError<[string]>('NO_MCP_SERVERS',
  '%s names no MCP servers, or the package @polyvac/mcp-gateway is not installed; add them under service.mcp_servers', 500)
export const ServerCommandFailedError = createError<[string, string]>('SERVER_COMMAND_FAILED',
  'the MCP server `%s` cannot be used: %s; check the command after `--`', 500)
export const McpServerMissingError = createError('MCP_SERVER_MISSING',
  'polyvac mcp needs the package @polyvac/mcp-server; install it next to @polyvac/host', 500)
export const PackError = createError<[string, string]>('PACK_FAILED',
  'the packages of the clone %s cannot be packed: %s; run `npm run build` there', 500)
