import { Type } from '@sinclair/typebox'
import type { Authenticate, ConfigProblem, Log } from '@polyvac/core'
import { LogGate, mayAdminister, memoryBudget } from '@polyvac/core/plugin'
import type { LeftOut } from '@polyvac/documents'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Gateway } from '@polyvac/mcp-gateway'
import type { TaskStore } from '@polyvac/tasks'
import { gatewayStates } from '../gateway.js'
import type { Assembly } from '../assembly.js'

/** The state that readiness depends on. */
export interface Condition {
  readonly assembly: () => Assembly
  readonly isDraining: () => boolean
  /** Undefined where no protocol has tasks. */
  readonly tasks: () => TaskStore | undefined
  /** Undefined where no MCP servers are configured. */
  readonly gateway: Gateway | undefined
  /** Switches that are on while their package is not installed. */
  readonly missing: () => ReadonlyArray<{ readonly switch: string, readonly package: string }>
  /** Problems and warnings of the configuration file, for administrators. */
  readonly configuration?: (() => readonly ConfigProblem[]) | undefined
  /** VACs whose lists name tools that their MCP servers do not have. */
  readonly unknownTools?: (() => readonly string[]) | undefined
  /** Whether a changed configuration file was refused. */
  readonly isRefused?: (() => boolean) | undefined
  readonly authenticate?: Authenticate | undefined
}

const Ready = Type.Object({
  status: Type.String(),
  reasons: Type.Array(Type.Object({ part: Type.String(), reason: Type.String() })),
  left_out: Type.Optional(Type.Array(Type.Object({
    vac: Type.String(),
    files: Type.Integer(),
    text: Type.String(),
    reasons: Type.Array(Type.Object({ reason: Type.String(), files: Type.Integer(), remedy: Type.Optional(Type.String()) }))
  }), { description: 'files of the folders of documents that are not read, by reason' })),
  configuration: Type.Optional(Type.Array(Type.Object({
    file: Type.String(), line: Type.Integer(), column: Type.Integer(), message: Type.String(), hint: Type.Optional(Type.String())
  }), { description: 'problems and warnings of the configuration file, for administrators' }))
})

/** GET /health: the process runs. GET /ready: whether it can serve requests, with the reasons why not. */
export function registerReadiness (app: FastifyInstance, condition: Condition): void {
  const gate = new LogGate()
  app.get('/health', {
    schema: { operationId: 'getHealth', summary: 'Liveness', tags: ['host'], response: { 200: Type.Object({ status: Type.String() }) } }
  }, async () => ({ status: 'healthy' }))

  app.get('/ready', {
    schema: { operationId: 'getReadiness', summary: 'Readiness, with reasons', tags: ['host'], response: { 200: Ready, 503: Ready } }
  }, async (request, reply) => {
    const reasons = await reasonsOf(condition, app.log, gate)
    const isReady = reasons.length === 0
    // reported, but not a reason for 503: everything else works, and another process would have the same problem
    for (const [vac, folders] of condition.assembly().folders) {
      for (const { ready, embeddingProblem, embedded = 0, passages } of folders.map(folder => folder.stats())) {
        if (!ready || embeddingProblem === undefined) continue
        reasons.push({ part: `vac.${vac}`, reason: `its documents are indexed by words, and ${passages - embedded} passages wait for an embedding: ${embeddingProblem}` })
      }
    }
    for (const { name, reason } of condition.assembly().agents?.problems() ?? []) reasons.push({ part: `a2a.${name}`, reason })
    for (const { server, reason } of gatewayStates(condition.gateway)) reasons.push({ part: `mcp.${server}`, reason })
    for (const vac of condition.unknownTools?.() ?? []) reasons.push({ part: `vac.${vac}`, reason: 'its `tools` or `approve` name what its MCP servers do not have; the log has the names' })
    for (const { switch: part, package: name } of condition.missing()) {
      reasons.push({ part, reason: `the package ${name} is not installed: its routes answer 501` })
    }
    if (condition.isRefused?.() === true) {
      reasons.push({ part: 'configuration', reason: 'a changed configuration file was refused: the one before it is in force, without the credentials that were removed' })
    }
    if (memoryBudget.refusedRecently) {
      reasons.push({ part: 'memory', reason: 'requests were refused in the last seconds: the memory budget, or the share of an owner, is used up' })
    }
    if (!isReady) reply.code(503).header('retry-after', 1)
    const problems = condition.configuration?.() ?? []
    const isShown = problems.length > 0 && await mayReadConfiguration(request, condition.authenticate)
    const leftOut = leftOutOf(condition.assembly())
    return { status: isReady ? 'ready' : 'not ready', reasons, ...leftOut.length > 0 && { left_out: leftOut }, ...isShown && { configuration: problems } }
  })
}

/** Whether the caller of this public route is an administrator; a request without valid credentials is not refused. */
async function mayReadConfiguration (request: FastifyRequest, authenticate: Authenticate | undefined): Promise<boolean> {
  if (authenticate === undefined) return mayAdminister(request, undefined)
  try {
    const principal = await authenticate(request) as Awaited<ReturnType<Authenticate>> | null
    return principal != null && mayAdminister(request, principal)
  } catch {
    return false
  }
}

/** Without names of files: callers of this route are strangers. */
function leftOutOf ({ folders }: Assembly): Array<{ vac: string } & LeftOut> {
  return [...folders].flatMap(([vac, memories]) => memories.map(memory => ({ vac, ...memory.leftOut() }))).filter(({ files }) => files > 0)
}

async function reasonsOf ({ assembly, isDraining, tasks }: Condition, log: Log, gate: LogGate): Promise<Array<{ part: string, reason: string }>> {
  const reasons = []
  if (isDraining()) reasons.push({ part: 'host', reason: 'the service is shutting down' })
  for (const [vac, folders] of assembly().folders) {
    for (const folder of folders) {
      const { ready, files, passages } = folder.stats()
      if (!ready) reasons.push({ part: `vac.${vac}`, reason: `its documents are being indexed: ${files} files, ${passages} passages so far` })
    }
  }
  const health = await tasks()?.health()
  if (health?.ok === false) {
    // the detail may name paths of the machine, and callers of this route are strangers
    const suppressed = gate.pass('tasks')
    if (suppressed !== undefined) log.warn({ reason: health.detail, suppressed }, 'the task store cannot write')
    reasons.push({ part: 'tasks', reason: 'the task store cannot write; the log has the reason' })
  }
  return reasons
}
