import { McpServerConfig } from '@polyvac/core'
import { Type, type Static, type TNumber } from '@sinclair/typebox'
import { A2aAgentConfig } from './agent-config.js'

function seconds (description: string): TNumber {
  return Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: `seconds ${description}` })
}

/** What a scope of a static token may be. */
const Scope = Type.String({ pattern: '^(?:vac:.+|tool:.+|admin)$' })

/** How callers authenticate. The function that it becomes checks the values, which may be secrets by mistake. */
const AuthConfig = Type.Object({
  tokens: Type.Optional(Type.Array(Type.Object({
    owner: Type.String({ minLength: 1, description: 'whom the token names' }),
    sha256: Type.String({ description: 'SHA-256 of the token, in hexadecimal; `polyvac token` prints it' }),
    scopes: Type.Optional(Type.Array(Scope, { description: 'list of vac:<name>, vac:*, tool:<server>, tool:<server>__<tool>, tool:*, admin; default: all but admin' }))
  }, { additionalProperties: false }), { minItems: 1, description: 'static bearer tokens, as hashes' })),
  jwt: Type.Optional(Type.Object({
    issuer: Type.String({ description: 'issuer, exactly as tokens name it' }),
    audience: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })], { description: 'audience of accepted tokens' }),
    jwks: Type.Optional(Type.String({ description: 'address of the keys; default: that of the metadata of the issuer' })),
    algorithms: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: 'accepted algorithms; default: all with a public key' })),
    owner_claim: Type.Optional(Type.String({ minLength: 1, description: 'claim that names the owner; default: `issuer|sub`' })),
    scope_claim: Type.Optional(Type.String({ minLength: 1, description: 'claim with the scopes; default: all but admin' })),
    announce_scopes: Type.Optional(Type.Boolean({ description: 'publish the scopes of all VACs and tools, and name the one that a call over MCP lacks; default: such a call is answered like an unknown name' }))
  }, { additionalProperties: false, description: 'bearer tokens of one issuer' })),
  platform: Type.Optional(Type.Union([Type.Literal('cloud_run'), Type.Object({ header: Type.String({ minLength: 1 }) }, { additionalProperties: false })], {
    description: '`cloud_run`, or `{ header }` with the name of the caller; needs `trusted_proxies`'
  })),
  open: Type.Optional(Type.Array(Type.Union([Type.Literal('/ready'), Type.Literal('/metrics')]), {
    description: 'routes that need no caller; default: [/ready]. The others need `admin`'
  }))
}, { additionalProperties: false, description: 'who may call: tokens, jwt, platform; the first that knows the caller decides' })

/** The host's section: the switches of the service description under their names there, and those of the host. */
export const ServiceConfig = Type.Object({
  stream_interpreter: Type.Optional(Type.String({
    description: 'built-in name (documents, openai, echo) or module path relative to this file; default: documents'
  })),
  vac_interpreter: Type.Optional(Type.String({ description: 'module path; without it the static call collects the stream' })),
  tools: Type.Optional(Type.String({
    minLength: 1, description: 'module path of tools for interpreters; its export `tools`, or the default one, is what `defineTools` returns, or a list of tools'
  })),
  enable_a2a_agent: Type.Optional(Type.Boolean({ description: 'register the A2A endpoints' })),
  a2a_vac_names: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'VACs to expose over A2A; null or absent: all; []: none'
  })),
  a2a: Type.Optional(Type.Object({
    default_vac: Type.Optional(Type.String({ description: 'VAC that answers messages of A2A 1.0 and 0.3 that name none' })),
    input_modes: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: 'media types of parts in messages of A2A 1.0 and 0.3, e.g. image/*; default: text, JSON, PDF, common images'
    })),
    strict_card: Type.Optional(Type.Boolean({
      description: 'true: callers without A2A-Version get the pure agent card of 1.0; default: one for 1.0 and 0.3 together'
    })),
    grpc: Type.Optional(Type.Object({
      port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'port of gRPC; 0 takes a free one, which no card lists' }),
      host: Type.Optional(Type.String({ minLength: 1, description: 'address to listen on; default 127.0.0.1' })),
      url: Type.Optional(Type.String({
        minLength: 1, description: 'host:port where clients reach it, for agent cards; default: `host` and `port`'
      }))
    }, { additionalProperties: false, description: 'A2A 1.0 over gRPC: port, host, url; needs @grpc/grpc-js and protobufjs' }))
  }, { additionalProperties: false, description: 'options of A2A 1.0 and 0.3' })),
  enable_mcp_server: Type.Optional(Type.Boolean({ description: 'offer an MCP server at /mcp' })),
  mcp_server: Type.Optional(Type.Object({
    tool_search: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Literal('off')], {
      description: 'tools of `mcp_servers` that the list at /mcp may have; more are behind `search_tools` and `call_tool`; default `off`: the list has all'
    }))
  }, { additionalProperties: false, description: 'options of the MCP server' })),
  enable_playground: Type.Optional(Type.Boolean({
    description: 'serve the chat and its inspector at / and /playground/; default: true on a loopback address, unless NODE_ENV is production'
  })),
  playground: Type.Optional(Type.Object({
    title: Type.Optional(Type.String({ minLength: 1, description: 'name of the service on the page; default Polyvac' })),
    read_only: Type.Optional(Type.Boolean({ description: 'the page asks VACs, and changes nothing; default false' })),
    sign_in: Type.Optional(Type.String({ minLength: 1, description: 'address where a person signs in; the page goes there once where the routes refuse its caller, then links to it' })),
    theme: Type.Optional(Type.Object(Object.fromEntries(['accent', 'on_accent', 'background', 'surface', 'text', 'font'].map(name => [name, Type.Optional(Type.String())])), {
      additionalProperties: false, description: 'values of CSS: accent, on_accent, background, surface, text, font'
    }))
  }, { additionalProperties: false, description: 'what the page of the playground shows' })),
  mcp_servers: Type.Optional(Type.Union([Type.Array(McpServerConfig), Type.Record(Type.String(), McpServerConfig), Type.Null()], {
    description: 'external MCP servers: a list, or the `mcpServers` map of other tools'
  })),
  a2a_agents: Type.Optional(Type.Union([Type.Array(A2aAgentConfig), Type.Null()], {
    description: 'agents of other services that answer over A2A, as VACs'
  })),
  mcp_inherit_env: Type.Optional(Type.Union([Type.Literal('all'), Type.Literal('none')], {
    description: '`none`: children of the MCP gateway see only the safe list and what their entry names'
  })),
  protocols: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Boolean(), Type.Record(Type.String(), Type.Unknown())]), {
    description: 'protocols of @polyvac/vac by name: false, true, or options such as `keep_alive`; default: all'
  })),
  async_stream: Type.Optional(Type.Boolean({
    description: 'true (default): interpreters run on the event loop; false: interpreter modules run in worker threads'
  })),
  connections: Type.Optional(Type.Object({
    max: Type.Optional(Type.Integer({
      minimum: 1, description: 'most connections at once; default 10000, or fewer where the heap or the file descriptors are few'
    })),
    max_per_address: Type.Optional(Type.Integer({
      minimum: 1, description: 'most connections of one address, except those of `trusted_proxies`; of IPv6 a network of 64 bits is one; default a quarter of `max`'
    })),
    first_byte_timeout: Type.Optional(seconds('for the first byte of a connection; default 20')),
    headers_timeout: Type.Optional(seconds('for the headers of a request; default 20')),
    body_timeout: Type.Optional(seconds('for a whole request; default 60')),
    idle_timeout: Type.Optional(seconds('for the next request of a connection; default 72')),
    stall_timeout: Type.Optional(seconds('that a reader may take nothing of its response; default 60'))
  }, { additionalProperties: false, description: 'bounds of the connections of callers' })),
  memory_budget: Type.Optional(Type.Integer({
    minimum: 1, description: 'MiB that requests, responses and sessions may hold together; default: a quarter of the heap limit'
  })),
  telemetry: Type.Optional(Type.Object({
    prometheus: Type.Optional(Type.Boolean({ description: 'serves the metrics at GET /metrics; default: false' })),
    capture_content: Type.Optional(Type.Boolean({
      description: 'questions, answers and arguments of tools become attributes of spans; default: false'
    }))
  }, { additionalProperties: false, description: 'metrics and traces' })),
  cors: Type.Optional(Type.Boolean({ description: 'lets pages of `allowed_origins` read responses; needs @fastify/cors; default: false' })),
  helmet: Type.Optional(Type.Boolean({ description: 'sends the security headers of @fastify/helmet; default: false' })),
  limits: Type.Optional(Type.Object({
    owner: Type.Optional(Type.Object({
      requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, description: 'requests of one owner in a minute; each member of a batch is one' })),
      at_once: Type.Optional(Type.Integer({ minimum: 1, description: 'requests of one owner at once, with each member of a batch; one counts until its response and its interpreter have ended' })),
      tasks_per_day: Type.Optional(Type.Integer({ minimum: 1, description: 'tasks that one owner creates in a day, of UTC' }))
    }, { additionalProperties: false, description: 'bounds for each owner' })),
    address: Type.Optional(Type.Object({
      requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, description: 'requests of one address in a minute, also those without valid credentials' })),
      at_once: Type.Optional(Type.Integer({ minimum: 1, description: 'requests of one address at once, as for an owner; default a quarter of `connections.max`' }))
    }, { additionalProperties: false, description: 'bounds for each address; of IPv6 a network of 64 bits is one' })),
    body: Type.Optional(Type.Integer({
      minimum: 1, description: 'bytes of a request body, on all routes; a quarter of `memory_budget` at most; default 4 MiB'
    })),
    owner_share: Type.Optional(Type.Number({
      exclusiveMinimum: 0, maximum: 1, description: 'part of the memory budget, of shared slots and of the task store that one owner may have; default 0.25'
    })),
    event_loop_delay: Type.Optional(Type.Number({
      minimum: 0.02, maximum: 60, description: 'seconds of delay of the event loop, on average over a second, past which requests are refused with 503; default: none are'
    }))
  }, { additionalProperties: false, description: 'bounds of callers, and of their requests; none of callers by default' })),
  load_timeout: Type.Optional(Type.Number({
    exclusiveMinimum: 0, maximum: 3_600, description: 'seconds for loading an interpreter or memory module, and for opening a memory; default: 30'
  })),
  on_stray_error: Type.Optional(Type.Union([Type.Literal('fail'), Type.Literal('end')], {
    description: 'an error that an interpreter throws outside of its call: `fail` (default) fails the call, `end` ends the process'
  })),
  state_key: Type.Optional(Type.String({
    description: 'signs state of MCP that clients keep, and the addresses of citations where callers are authenticated, 32 bytes or more; replicas need the same; default: a key in the database, without one a key that ends with the process'
  })),
  auth: Type.Optional(AuthConfig),
  trusted_proxies: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1, description: 'proxies whose X-Forwarded-* headers count: addresses, ranges, or loopback, linklocal, uniquelocal'
  })),
  public_url: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'address under which callers reach the service' })),
  allowed_hosts: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
    description: 'further host names of the service in `Host`, such as agents.example.org; `*` allows all'
  })),
  allowed_origins: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
    description: 'web pages that may send requests with effects, such as https://app.example.org; `*` allows all'
  })),
  tasks: Type.Optional(Type.Object({
    store: Type.Optional(Type.Union([Type.Literal('sqlite'), Type.Literal('memory'), Type.Literal('postgres')], {
      description: 'where tasks are kept; default: `postgres` where `url` or the variable DATABASE_URL is set, otherwise `sqlite`'
    })),
    path: Type.Optional(Type.String({ description: 'file of the store `sqlite`, relative to this file' })),
    // not checked here: messages about a value show it
    url: Type.Optional(Type.String({ description: 'database of the store `postgres`, e.g. postgres://user:password@host/database' })),
    schema: Type.Optional(Type.String({ pattern: '^[a-z_][a-z0-9_]{0,39}$', description: 'schema of its tables; default polyvac' })),
    pool: Type.Optional(Type.Integer({ minimum: 2, maximum: 1_000, description: 'most connections of this process to it; default 10' })),
    ttl: Type.Optional(Type.String({ pattern: '^[0-9]+[smhd]$', description: 'how long finished tasks are kept, e.g. 7d' })),
    input_ttl: Type.Optional(Type.String({
      pattern: '^[0-9]+[smhd]$', description: 'how long a task may wait for its caller or for a worker, e.g. 1d; then it fails'
    })),
    max_tasks: Type.Optional(Type.Integer({ minimum: 1, description: 'most tasks kept; one owner may have a quarter' })),
    max_size: Type.Optional(Type.String({
      pattern: '^[0-9]+(KB|MB|GB)$', description: 'most space that tasks take, e.g. 4GB; one owner may have about a quarter'
    })),
    max_task_size: Type.Optional(Type.String({
      pattern: '^[0-9]*[1-9][0-9]*(KB|MB|GB)$', description: 'longest log of one task, in characters of JSON; default 64MB'
    })),
    run_timeout: Type.Optional(Type.String({
      pattern: '^[0-9]*[1-9][0-9]*[smhd]$', description: 'how long one run of a tool may take as a task of MCP; default 1h'
    }))
  }, { additionalProperties: false, description: 'the task engine behind A2A' })),
  conversations: Type.Optional(Type.Object({
    store: Type.Optional(Type.Boolean({ description: 'keep questions and answers as conversations; default true' })),
    ttl: Type.Optional(Type.String({ pattern: '^[0-9]+[smhd]$', description: 'how long a conversation is kept after its last question or answer; default 30d' })),
    max_turns: Type.Optional(Type.Integer({ minimum: 1, description: 'most turns of a conversation; the first ones leave; default 1000' })),
    max_conversations: Type.Optional(Type.Integer({ minimum: 1, description: 'most conversations of one owner; the oldest leave; default 10000' })),
    max_size: Type.Optional(Type.String({ pattern: '^[0-9]*[1-9][0-9]*(KB|MB|GB)$', description: 'most space that the conversations of one owner take; the oldest leave; default 256MB' }))
  }, { additionalProperties: false, description: 'the conversations of all protocols, in the store of the tasks' })),
  push: Type.Optional(Type.Object({
    enabled: Type.Optional(Type.Boolean({ description: 'notify webhooks of the updates of tasks; default true' })),
    allow: Type.Optional(Type.Array(Type.String(), {
      description: 'receivers besides public https addresses: a host name, `host:port`, or a range such as 10.0.0.0/8'
    }))
  }, { additionalProperties: false, description: 'push notifications of A2A' }))
}, { additionalProperties: false })
export type ServiceConfig = Static<typeof ServiceConfig>
