/** Names of spans and attributes, as of version 1.38.0 of the semantic conventions of OpenTelemetry. */
export const OPERATION = 'gen_ai.operation.name'
export const AGENT_NAME = 'gen_ai.agent.name'
export const TOOL_NAME = 'gen_ai.tool.name'
export const TOOL_ARGUMENTS = 'gen_ai.tool.call.arguments'
export const TOOL_RESULT = 'gen_ai.tool.call.result'
export const INPUT_MESSAGES = 'gen_ai.input.messages'
export const OUTPUT_MESSAGES = 'gen_ai.output.messages'
export const ERROR_TYPE = 'error.type'

export const HTTP_METHOD = 'http.request.method'
export const HTTP_ROUTE = 'http.route'
export const HTTP_STATUS = 'http.response.status_code'
export const SERVER_ADDRESS = 'server.address'
export const URL_PATH = 'url.path'
export const URL_SCHEME = 'url.scheme'

export const MCP_METHOD = 'mcp.method.name'
export const MCP_PROTOCOL_VERSION = 'mcp.protocol.version'
export const RPC_SYSTEM = 'rpc.system'
export const RPC_STATUS = 'rpc.response.status_code'

/** Polyvac's own, where the conventions have none. */
export const PROTOCOL = 'polyvac.protocol'
export const MCP_SERVER = 'polyvac.mcp.server'
export const SKILL = 'polyvac.skill'
export const TASK_ATTEMPT = 'polyvac.task.attempt'

export const INVOKE_AGENT = 'invoke_agent'
export const EXECUTE_TOOL = 'execute_tool'
export const RUN_TASK = 'run_task'
