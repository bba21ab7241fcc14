import { createError } from '@polyvac/core/plugin'

export const NoMemoryError = createError<[string]>('VAC_WITHOUT_MEMORY',
  'the VAC %s answers from documents but has none; add `memory: [ { docs: { vectorstore: folder, path: ./docs } } ]`, or give it another interpreter', 500)
export const MemoryModuleError = createError<[string, string]>('MEMORY_MODULE',
  'the memory %s cannot be used: %s', 500)
export const InstructionsFileError = createError<[string, string, string]>('INSTRUCTIONS_FILE',
  'the instructions of the VAC %s cannot be read from %s: %s', 500)
export const ToolsModuleError = createError<[string, string]>('TOOLS_MODULE',
  'the tools %s cannot be used: %s', 500)
export const VacToolsError = createError<[string, string]>('VAC_TOOLS',
  'the VAC %s cannot have its tools: %s', 500)
export const AgentsError = createError<[string, string]>('A2A_AGENTS', 'service.%s: %s', 500)
/** Callers read it: without the name of the variable. */
export const AgentNotConfiguredError = createError<[string]>('A2A_AGENT_NOT_CONFIGURED',
  'the remote agent %s is not asked: its entry needs a variable that is not set; the log of the start names it', 502, { expose: true })
/** Argument: why there is no store. */
export const ApprovalsError = createError<[string]>('APPROVALS_WITHOUT_STORE',
  '`approve` needs the task store, which keeps approvals: %s; or remove `approve`', 500)
export const LoadTimeoutError = createError<[string, number]>('LOAD_TIMEOUT',
  'the %s did not open within %s s; look whether its disk or server answers, or raise service.load_timeout', 500)
export const HostOptionsError = createError<[string]>('HOST_OPTIONS', '%s', 500)
export const ProtocolNotEnabledError = createError<[string, string]>('PROTOCOL_NOT_ENABLED',
  '%s not enabled: set service.protocols.%s', 501)
export const WorkerFunctionError = createError('WORKER_FUNCTION',
  'async_stream: false runs interpreters in worker threads, which cannot get functions; give stream_interpreter as a module path', 500)
export const PublicBindError = createError<[string]>('PUBLIC_BIND_UNAUTHENTICATED',
  '%s is reachable from other machines, and callers are not authenticated; set service.auth, bind 127.0.0.1, or set --allow-unauthenticated', 500)
export const RateLimitError = createError<[string, number]>('RATE_LIMIT',
  'there are more requests of %s than %s in a minute; wait for the seconds of Retry-After', 429)
export const OverloadedError = createError('SERVICE_OVERLOADED',
  'the service is overloaded: its event loop is late; wait for the seconds of Retry-After', 503, { expose: true })
export const TasksPerDayError = createError<[number]>('TASKS_PER_DAY',
  'one owner may create %s tasks in a day; wait for the seconds of Retry-After', 429)
export const PackageMissingError = createError<[string, string]>('PACKAGE_MISSING',
  'service.%s needs a package that is not installed; run `npm install %s`', 500)
export const NoAuthMethodError = createError('AUTH_WITHOUT_METHOD',
  'service.auth names no way to authenticate; add tokens (`polyvac token` prints an entry), jwt or platform', 500)
export const PortInUseError = createError<[string]>('PORT_IN_USE',
  'port %s is in use; stop the process that uses it, or choose another with --port (0 picks a free one)', 500)
export const CannotListenError = createError<[string, string]>('CANNOT_LISTEN', 'cannot listen on %s: %s', 500)
export const TelemetrySdkMissingError = createError('TELEMETRY_SDK_MISSING',
  'a variable OTEL_* asks for traces or metrics, and the packages that send them are not installed; run `npm install @opentelemetry/api@1.9 @opentelemetry/sdk-node@0.222`, or set OTEL_SDK_DISABLED=true', 500)
export const UnknownVacNamesError = createError<[string, string]>('UNKNOWN_A2A_VAC',
  'a2a_vac_names names %s, which is not a VAC; configured: %s', 500)
export const TasksUnavailableError = createError<[string, string]>('TASKS_UNAVAILABLE',
  'tasks cannot be kept in %s: %s; name another file with service.tasks.path, or set service.tasks.store: memory', 500)
export const TasksSettingsError = createError<[string]>('TASKS_SETTINGS', 'service.tasks: %s', 500)
export const StateKeyError = createError<[number]>('STATE_KEY_TOO_SHORT',
  'the key of POLYVAC_STATE_KEY or service.state_key has %s bytes; it needs 32, for example those of `openssl rand -base64 32`', 500)
export const MetricsPackageError = createError('METRICS_PACKAGE_MISSING',
  'telemetry.prometheus needs two packages; install @opentelemetry/exporter-prometheus@0.222 and @opentelemetry/sdk-metrics@2 next to @polyvac/host', 500)
