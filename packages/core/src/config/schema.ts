import { Type, type Static, type TNumber, type TObject, type TSchema } from '@sinclair/typebox'

/** One knowledge store of a VAC: `vectorstore` names its kind; the other keys depend on the kind. */
export const MemoryEntry = Type.Object({
  vectorstore: Type.String({ description: '`folder`, or the path of a module that exports a memory' }),
  path: Type.Optional(Type.String({ description: 'folder of documents, relative to this file' })),
  k: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'passages taken for an answer' })),
  extensions: Type.Optional(Type.Array(Type.String(), { description: 'extensions of the files of a folder, with the dot' })),
  ignore: Type.Optional(Type.Array(Type.String(), { description: 'patterns of files of a folder to leave out, as in a `.gitignore`' })),
  index_file: Type.Optional(Type.String({
    minLength: 1, description: 'file of the index of a folder, relative to this file, or `:memory:`; default: in `.polyvac` next to the folder'
  })),
  max_file_bytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 67_108_864, description: 'longest file of a folder, in bytes; default: 4 MiB' })),
  max_files: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'files of a folder; default: 50,000' })),
  encoding: Type.Optional(Type.String({
    minLength: 1, description: 'encoding of texts of a folder that are not UTF-8, such as `windows-1251`; default: recognised by their letters'
  })),
  embed: Type.Optional(Type.String({ minLength: 1, description: 'model only for this store; default: that of the VAC' }))
}, { additionalProperties: true })
export type MemoryEntry = Static<typeof MemoryEntry>

/** One VAC. Keys that are not named here are kept, handed to the interpreter, and warned about once. */
export const VacConfig = Type.Object({
  display_name: Type.Optional(Type.String({ description: 'shown to people; becomes the skill description' })),
  description: Type.Optional(Type.String({ description: 'what the VAC is for; shown to people, models and agents; default: `display_name`' })),
  model: Type.Optional(Type.String({ description: 'language model; `anthropic/<name>` and `google/<name>` are of that maker where no server is named; `extractive` or absent: answers without one' })),
  agent: Type.Optional(Type.String({ description: 'kind of agent, mentioned in capability descriptions' })),
  examples: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    description: 'questions that the VAC answers, for its agent cards and the first screen of the chat; default: of its documents'
  })),
  agent_version: Type.Optional(Type.String({ minLength: 1, description: 'version of the agent, for its cards; default: that of Polyvac' })),
  mcp_tool: Type.Optional(Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'name of the only tool of the VAC over MCP; default: a tool for each of its skills, such as vac_query_<name>'
  })),
  llm: Type.Optional(Type.String({ description: 'language model provider' })),
  interpreter: Type.Optional(Type.String({ description: 'built-in name or module path, only for this VAC' })),
  memory: Type.Optional(Type.Array(Type.Record(Type.String(), MemoryEntry, { minProperties: 1, maxProperties: 1 }), {
    description: 'knowledge stores, each a one-key entry `label: { vectorstore, ... }`'
  })),
  tools: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    description: 'what an agent may use: `<MCP server>`, `<MCP server>__<tool>`, a tool of `service.tools`, `vac:<name>`, a name of `a2a_agents`; default: all tools, no agents'
  })),
  approve: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    description: 'tools that a person approves before each call: `destructive`, `<MCP server>`, `<MCP server>__<tool>`, a tool of `service.tools`; default: none'
  })),
  approval_ttl: Type.Optional(seconds('that a question for an approval waits; default 3600')),
  embed: Type.Optional(Type.String({
    minLength: 1, description: 'model that embeds the documents of folders, or `auto`; absent: searches compare only words'
  })),
  instructions: Type.Optional(Type.String({ description: 'of the interpreter `agent`: what the agent is and how it answers; a file where it begins with `./`, `../` or `/`' })),
  max_steps: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'of the interpreter `agent`: calls of the model for one answer; default 8' })),
  tool_search: Type.Optional(Type.Integer({ minimum: 1, description: 'of the interpreter `agent`: tools that the model has in its list; more are behind `search_tools` and `call_tool`; default 40' })),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'of the interpreter `agent`: tokens that the model writes in one step' })),
  steps: Type.Optional(Type.Union([Type.Literal('all'), Type.Literal('names'), Type.Literal('off')], {
    description: 'what callers see of the steps of an answer; `names` (default): of tools their names and durations, contents only with the scope `admin`'
  })),
  openai: Type.Optional(Type.Object({
    base_url: Type.Optional(Type.String({ description: 'OpenAI-compatible server, e.g. http://127.0.0.1:11434/v1' })),
    api_key: Type.Optional(Type.String({ description: 'sent to that server as a bearer token' })),
    model: Type.Optional(Type.String({ description: 'model name on that server; default: the VAC\'s `model`' }))
  }, { additionalProperties: false, description: 'where `model` and `embed` run' }))
}, { additionalProperties: true })
export type VacConfig = Static<typeof VacConfig> & { readonly [key: string]: unknown }

function seconds (description: string): TNumber {
  return Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: `seconds ${description}` })
}

/** One external MCP server: started by `command`, or reached at `url` (contract section 4). */
export const McpServerConfig = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'unique identifier of the server' })),
  command: Type.Optional(Type.String({ minLength: 1, description: 'executable that starts the server, found on the search path' })),
  args: Type.Optional(Type.Array(Type.String(), { description: 'arguments of the command' })),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'environment of the child, besides the safe list' })),
  inherit_env: Type.Optional(Type.Array(Type.String(), { description: 'names of variables the child inherits; [] for none' })),
  secret_env: Type.Optional(Type.Array(Type.String(), { description: 'names of variables whose values are removed from results and errors, besides those with the name of a secret' })),
  cwd: Type.Optional(Type.String({ description: 'folder in which the command runs' })),
  url: Type.Optional(Type.String({ description: 'address of a server reached over HTTP' })),
  headers: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'sent with every request to `url`' })),
  secret_headers: Type.Optional(Type.Array(Type.String(), { description: 'names of headers, as `secret_env`' })),
  oauth: Type.Optional(Type.Object({
    client_id: Type.Optional(Type.String({ minLength: 1, description: 'of a registered client' })),
    client_secret: Type.Optional(Type.String({ minLength: 1 })),
    issuer: Type.Optional(Type.String({ description: 'https address of the authorization server that gets the secret; default: the origin of `url`' })),
    scope: Type.Optional(Type.String({ description: 'default: what the server asks for' })),
    resource: Type.Optional(Type.Boolean({ description: 'false: no resource indicator (RFC 8707), for servers that reject it; with `per_owner`' })),
    client_metadata: Type.Optional(Type.Boolean({ description: 'false: never the metadata document of this service as client; with `per_owner`' }))
  }, { additionalProperties: false, description: 'OAuth for `url`: client credentials, or with `per_owner` the sign-in of each owner' })),
  per_owner: Type.Optional(Type.Boolean({ description: 'true: each owner signs in to `url` and has separate tokens and a separate connection; needs `oauth`' })),
  timeout: Type.Optional(seconds('for one call without progress; default 60')),
  total_timeout: Type.Optional(seconds('for one call, progress or not; default 3600')),
  start_timeout: Type.Optional(seconds('for a start, with the download by `npx`; default 60')),
  list_timeout: Type.Optional(seconds('that a list of all servers waits for this one; default 5')),
  max_message_bytes: Type.Optional(Type.Integer({ minimum: 1_024, maximum: 268_435_456, description: 'longest message of the server in bytes; default 8388608' })),
  max_in_flight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'calls of the server at once, a quarter of them of one owner; default 1000' })),
  allow: Type.Optional(Type.Array(Type.String(), { description: 'tools to offer; default: all' })),
  deny: Type.Optional(Type.Array(Type.String(), { description: 'tools never to offer' })),
  approve: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'tools that a person approves before each call: `destructive`, or names; default: none' })),
  approval_ttl: Type.Optional(seconds('that a question for an approval waits; default 3600')),
  schemas: Type.Optional(Type.Union([Type.Literal('server'), Type.Literal('model')], { description: 'model: input schemas in the form that the APIs of Anthropic and OpenAI accept; default server, unchanged' })),
  pin: Type.Optional(Type.Union([Type.Boolean(), Type.String()], { description: 'true, or the fingerprint of an accepted list: holds changed and new tools back' })),
  restart: Type.Optional(Type.Boolean({ description: 'start it again when it ends; default true' })),
  process: Type.Optional(Type.Union([Type.Literal('shared'), Type.Literal('owner'), Type.Literal('session')], {
    description: 'processes of `command`: `shared` (default) has one, `owner` one for each owner, `session` one for each MCP session'
  })),
  max_processes: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: 'processes with `process`, a quarter of them of one owner; default 40' })),
  process_idle: Type.Optional(seconds('without a request after which such a process ends; default 600')),
  type: Type.Optional(Type.String({ description: 'transport, as other tools write it' }))
}, { additionalProperties: false })
export type McpServerConfig = Static<typeof McpServerConfig>

/** For editors: vac-config.ts leaves them out before the check. */
const ANCHORS = { patternProperties: { '^x-': { description: 'a place for anchors; not read' } } }

/** The whole of `vac_config.yaml` for a program that knows these keys of `service`: for its checks, and for editors. */
export function configFile (service: TObject): TSchema {
  return fileWith(Type.Object(service.properties, { additionalProperties: false, description: 'the switches of the host', ...ANCHORS }))
}

/** The file where nothing is known about `service`, which is the host's. */
export const VacConfigFile = fileWith(Type.Record(Type.String(), Type.Unknown()))
export type VacConfigFile = Static<typeof VacConfigFile>

function fileWith<Service extends TSchema> (service: Service) {
  return Type.Object({
    $schema: Type.Optional(Type.String({ description: 'the JSON Schema, for editors' })),
    kind: Type.Literal('vacConfig', { description: 'what the file is' }),
    apiVersion: Type.Optional(Type.String({ description: 'as in older files; not read' })),
    service: Type.Optional(service),
    vac: Type.Optional(Type.Record(Type.String(), VacConfig, { description: 'the VACs by name; optional with `mcp_servers`' }))
  }, {
    additionalProperties: false,
    title: 'Polyvac configuration',
    ...ANCHORS
  })
}
