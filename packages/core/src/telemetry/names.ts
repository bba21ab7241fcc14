/**
 * Names of spans, attributes and labels, of version 1.45.0 of the semantic conventions of OpenTelemetry. Those of
 * `gen_ai` and `mcp` have moved to its GenAI conventions.
 */
/** Spans of calls, tools and MCP calls of a tool, metrics of calls: `invoke_agent` or `execute_tool`. */
export const OPERATION = 'gen_ai.operation.name'
/** Spans of calls, metrics of calls: the VAC. */
export const AGENT_NAME = 'gen_ai.agent.name'
/** Metric of tokens: `input` or `output`. */
export const TOKEN_TYPE = 'gen_ai.token.type'
/** Spans of tools, and of MCP requests that call one: the tool, `_OTHER` past 1,000 names. */
export const TOOL_NAME = 'gen_ai.tool.name'
/** Spans of tools, with `capture_content`: the arguments. */
export const TOOL_ARGUMENTS = 'gen_ai.tool.call.arguments'
/** Spans of tools, with `capture_content`: the result. */
export const TOOL_RESULT = 'gen_ai.tool.call.result'
/** Spans of calls, with `capture_content`: the question, as JSON messages of the conventions. */
export const INPUT_MESSAGES = 'gen_ai.input.messages'
/** Spans of calls, with `capture_content`: the answer, as JSON messages of the conventions. */
export const OUTPUT_MESSAGES = 'gen_ai.output.messages'
/** Spans that failed: the code of the error, a status, or the name of a class. */
export const ERROR_TYPE = 'error.type'

/** Spans of requests and webhooks, metric of requests: the method, `_OTHER` for an unknown one. */
export const HTTP_METHOD = 'http.request.method'
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
/** The method as the conventions name it: callers can invent others. */
export function knownMethod (method: string): string {
  return METHODS.has(method) ? method : '_OTHER'
}
/** Spans of requests, metric of requests: the pattern of the route. */
export const HTTP_ROUTE = 'http.route'
/** Spans of requests and webhooks: the status. */
export const HTTP_STATUS = 'http.response.status_code'
/** Spans of webhooks: the host name of the receiver. */
export const SERVER_ADDRESS = 'server.address'
/** Spans of requests to a known route: the path, without the query. */
export const URL_PATH = 'url.path'
/** Spans of requests: `http` or `https`. */
export const URL_SCHEME = 'url.scheme'

/** Spans of MCP requests: the method. */
export const MCP_METHOD = 'mcp.method.name'
/** Spans of MCP requests at the server: the revision. */
export const MCP_PROTOCOL_VERSION = 'mcp.protocol.version'

// Polyvac's own, where the conventions have none.
/** Spans and metrics of calls, metric of requests: the protocol, as in log lines; `host` for other routes. */
export const PROTOCOL = 'polyvac.protocol'
/** Metrics of calls and webhooks: how it ended. A call that was refused for a mistake of its caller is `rejected`. */
export const OUTCOME = 'polyvac.outcome'
/** Metric of requests: `2xx` to `5xx`; `4xx` where the client left before the headers of the response. */
export const STATUS_CLASS = 'polyvac.status_class'
/** Metric of MCP servers: the state of the server. */
export const MCP_STATE = 'polyvac.mcp.state'
/** Metric of tasks: the state of the task. */
export const TASK_STATE = 'polyvac.task.state'
/** Spans of requests to MCP servers, metrics of them and of calls of their tools: the server. */
export const MCP_SERVER = 'polyvac.mcp.server'
/** Spans of tasks: the skill. */
export const SKILL = 'polyvac.skill'
/** Spans of tasks: the attempt, from 0. */
export const TASK_ATTEMPT = 'polyvac.task.attempt'

export const INVOKE_AGENT = 'invoke_agent'
export const EXECUTE_TOOL = 'execute_tool'
export const RUN_TASK = 'run_task'
