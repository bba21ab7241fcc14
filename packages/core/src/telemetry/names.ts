/**
 * Names of spans, attributes and labels, of version 1.45.0 of the semantic conventions of OpenTelemetry. Those of
 * `gen_ai` and `mcp` have moved to its GenAI conventions.
 */
export const OPERATION = 'gen_ai.operation.name'
export const AGENT_NAME = 'gen_ai.agent.name'
export const TOKEN_TYPE = 'gen_ai.token.type'
export const TOOL_NAME = 'gen_ai.tool.name'
export const TOOL_ARGUMENTS = 'gen_ai.tool.call.arguments'
export const TOOL_RESULT = 'gen_ai.tool.call.result'
export const INPUT_MESSAGES = 'gen_ai.input.messages'
export const OUTPUT_MESSAGES = 'gen_ai.output.messages'
export const ERROR_TYPE = 'error.type'

export const HTTP_METHOD = 'http.request.method'
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
/** The method as the conventions name it: callers can invent others. */
export function knownMethod (method: string): string {
  return METHODS.has(method) ? method : '_OTHER'
}
export const HTTP_ROUTE = 'http.route'
export const HTTP_STATUS = 'http.response.status_code'
export const SERVER_ADDRESS = 'server.address'
export const URL_PATH = 'url.path'
export const URL_SCHEME = 'url.scheme'

export const MCP_METHOD = 'mcp.method.name'
export const MCP_PROTOCOL_VERSION = 'mcp.protocol.version'

/** Polyvac's own, where the conventions have none. */
export const PROTOCOL = 'polyvac.protocol'
export const OUTCOME = 'polyvac.outcome'
export const STATUS_CLASS = 'polyvac.status_class'
export const MCP_STATE = 'polyvac.mcp.state'
export const TASK_STATE = 'polyvac.task.state'
export const MCP_SERVER = 'polyvac.mcp.server'
export const SKILL = 'polyvac.skill'
export const TASK_ATTEMPT = 'polyvac.task.attempt'

export const INVOKE_AGENT = 'invoke_agent'
export const EXECUTE_TOOL = 'execute_tool'
export const RUN_TASK = 'run_task'
