import { Type, type Static, type TSchema } from '@sinclair/typebox'

const meta = Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
  description: 'passed on to the server, without `progressToken` and `io.modelcontextprotocol/*`'
}))

const name = (description: string): TSchema & { static: string } => Type.String({ minLength: 1, maxLength: 1_000, description })

/** MCP tool (service description, 2.6). */
export const McpTool = Type.Object({
  name: Type.String(),
  description: Type.String(),
  inputSchema: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of the arguments' }),
  server: Type.String({ description: 'the server that provides it' })
}, { title: 'McpTool' })
export type McpTool = Static<typeof McpTool>

/** MCP resource (service description, 2.7). */
export const McpResource = Type.Object({
  uri: Type.String(),
  name: Type.String(),
  description: Type.String(),
  mimeType: Type.String({ description: 'empty if the server does not name one' }),
  server: Type.String({ description: 'the server that provides it' })
}, { title: 'McpResource' })
export type McpResource = Static<typeof McpResource>

export const McpResourceTemplate = Type.Object({
  uriTemplate: Type.String({ description: 'RFC 6570' }),
  name: Type.String(),
  description: Type.String(),
  mimeType: Type.String(),
  server: Type.String()
}, { title: 'McpResourceTemplate' })

export const McpPrompt = Type.Object({
  name: Type.String(),
  description: Type.String(),
  arguments: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() })),
  server: Type.String()
}, { title: 'McpPrompt' })

/** Content of a resource: `text`, or an empty text and the bytes in base64 as `blob`. */
const McpResourceContent = Type.Object({
  uri: Type.Optional(Type.String()),
  mimeType: Type.Optional(Type.String()),
  text: Type.String(),
  blob: Type.Optional(Type.String({ description: 'base64' }))
}, { title: 'McpResourceContent' })

export const ToolList = Type.Object({ tools: Type.Array(McpTool) })
export const ResourceList = Type.Object({ resources: Type.Array(McpResource) })
export const TemplateList = Type.Object({ resourceTemplates: Type.Array(McpResourceTemplate) })
export const PromptList = Type.Object({ prompts: Type.Array(McpPrompt) })

export const ServerName = Type.Object({ server_name: name('name of a configured server') })
export const ServerQuery = Type.Object({ server: Type.Optional(name('only the entries of this server')) })

export const ToolPath = Type.Object({
  server_name: name('name of a configured server'),
  tool_name: name('name of one of its tools, or the one that its OpenAPI document has')
})
export const DocumentFile = Type.Object({ file: name('name of a configured server, and `.json`') })

export const Arguments = Type.Record(Type.String(), Type.Unknown(), { description: 'the arguments, by the tool\'s inputSchema' })

export const CallBody = Type.Object({
  server: name('name of a configured server'),
  tool: name('name of one of its tools'),
  arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'the arguments, by the tool\'s inputSchema; default {}' })),
  capabilities: Type.Optional(Type.Object({
    elicitation: Type.Optional(Type.Object({})),
    sampling: Type.Optional(Type.Object({}))
  }, { description: 'what the caller can answer if the tool requests input; default: both. {}: requests for input are declined' })),
  requestState: Type.Optional(Type.String({ description: 'of the response that requested input' })),
  inputResponses: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'the answers, by the keys of inputRequests' })),
  approval: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'of the response that demanded an approval, once it is given' })),
  _meta: meta
}, { title: 'McpCall', additionalProperties: false })
export type CallBody = Static<typeof CallBody>

export const ApprovalId = Type.Object({ approval_id: name('of the response that demanded the approval') })
export const CallApproval = Type.Object({ approval: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'of the response that demanded an approval, once it is given' })) })
export const ApprovalBody = Type.Object({ approved: Type.Boolean() }, { title: 'McpApprovalAnswer', additionalProperties: false })

/** The call of a tool that waits for an approval. */
export const Approval = Type.Object({
  id: Type.String(),
  server: Type.String(),
  tool: Type.String(),
  input: Type.Unknown({ description: 'the arguments of the call' }),
  state: Type.Union(['waiting', 'approved', 'declined', 'used', 'expired'].map(state => Type.Literal(state))),
  expires_at: Type.String()
}, { title: 'McpApproval' })
export type Approval = Static<typeof Approval>

export const CallResult = Type.Object({
  result: Type.Unknown({ description: 'the server\'s whole result: content, structuredContent and any other fields' })
}, { title: 'McpCallResult' })

/** Status 202: the tool requests input. The same call with `requestState` and `inputResponses` resumes it. */
export const InputRequired = Type.Object({
  status: Type.Literal('input_required'),
  inputRequests: Type.Record(Type.String(), Type.Object({
    method: Type.String({ description: 'elicitation/create or sampling/createMessage' }),
    params: Type.Record(Type.String(), Type.Unknown())
  })),
  requestState: Type.String()
}, { title: 'McpInputRequired' })

export const ReadBody = Type.Object({
  server: name('name of a configured server'),
  uri: Type.String({ minLength: 1, maxLength: 10_000, description: 'URI of one of its resources' }),
  _meta: meta
}, { title: 'McpRead', additionalProperties: false })

export const ReadResult = Type.Object({ contents: Type.Array(McpResourceContent) }, { title: 'McpReadResult' })

export const PromptBody = Type.Object({
  server: name('name of a configured server'),
  prompt: name('name of one of its prompts'),
  arguments: Type.Optional(Type.Record(Type.String(), Type.String())),
  _meta: meta
}, { title: 'McpPromptCall', additionalProperties: false })

export const PromptResult = Type.Object({
  description: Type.String(),
  messages: Type.Array(Type.Unknown({ description: 'as the server wrote them: role and content' }))
}, { title: 'McpPromptResult' })

/** State of one server, for people and monitors. */
export const McpServerStatus = Type.Object({
  name: Type.String(),
  transport: Type.String({ description: 'stdio or http' }),
  state: Type.String({ description: 'starting, ready, waiting for its next start, failed or stopped' }),
  attempt: Type.Integer({ description: 'of this start, counted from the last time it was up for a while' }),
  crashLoop: Type.Boolean({ description: 'it has failed five times or more in a row' }),
  restarts: Type.Integer(),
  callsInFlight: Type.Integer(),
  processes: Type.Optional(Type.Integer({ description: 'processes of owners or sessions, besides the one for lists' })),
  pid: Type.Optional(Type.Integer()),
  server: Type.Optional(Type.Object({ name: Type.String(), version: Type.String() }, { description: 'its name and version' })),
  readySince: Type.Optional(Type.String()),
  nextRetryAt: Type.Optional(Type.String()),
  cause: Type.Optional(Type.String({ description: 'why it is not ready, as a code' })),
  error: Type.Optional(Type.String({ description: 'why it is not ready' })),
  exitCode: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  signal: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  missingEnv: Type.Optional(Type.Array(Type.String(), { description: 'variables that its entry names and the service does not have' })),
  unknownTools: Type.Optional(Type.Array(Type.String(), { description: 'what `allow`, `deny` and `approve` of its entry name and it does not have' })),
  leftOutTools: Type.Optional(Type.Array(Type.Object({ tool: Type.String(), problem: Type.String() }), { description: 'tools that it lists and the gateway does not' })),
  toolsFingerprint: Type.Optional(Type.String({ description: 'of the tools that it offers, for `pin`' })),
  toolChanges: Type.Optional(Type.Array(Type.Object({ tool: Type.String(), change: Type.String({ description: 'added, changed or removed' }), at: Type.String() }), { description: 'the last changes of its tools, the newest first' })),
  stderr: Type.Array(Type.String(), { description: 'the last lines, for administrators' })
}, { title: 'McpServerStatus' })

/** No fields: that it is JSON keeps out the forms of web pages. */
export const RestartBody = Type.Object({}, { title: 'McpRestart', additionalProperties: false })

export const ServerList = Type.Object({
  servers: Type.Array(McpServerStatus),
  mayRestart: Type.Boolean({ description: 'Whether the caller may restart them' })
})

/** Body of every failed request (service description, 7). */
export const GatewayError = Type.Object({
  error: Type.String({ description: 'what went wrong and what to do' }),
  code: Type.String({ description: 'stable, for programs' }),
  server: Type.Optional(Type.String()),
  tool: Type.Optional(Type.String()),
  details: Type.Optional(Type.Unknown({ description: 'exit code, signal, last lines of stderr, attempt and next retry where they apply; a failed tool\'s whole result' }))
}, { title: 'McpGatewayError' })
export type GatewayError = Static<typeof GatewayError>
