import Fastify, { type FastifyPluginAsync } from 'fastify'
import { t as tap, test } from 'tap'
import { a2aPlugin } from '@polyvac/a2a'
import { a2aGrpc } from '@polyvac/a2a/grpc'
import { createVacs, workerInterpreter, type Interpreter } from '@polyvac/core'
import type { OptionRule } from '@polyvac/core/plugin'
import { documentsInterpreter, openFolder } from '@polyvac/documents'
import { openaiInterpreter } from '@polyvac/documents/model'
import { createHost } from '@polyvac/host'
import { createGateway, mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { deltaWriter, type TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { GRPC_OPTIONS } from '../packages/a2a/src/grpc/index.js'
import { OPTIONS as A2A_OPTIONS, PUSH_OPTIONS } from '../packages/a2a/src/options.js'
import { HOST_OPTIONS } from '../apps/host/src/host-options.js'
import { RUN_LIMITS } from '../packages/core/src/interpreter/run-limits.js'
import { VACS_OPTIONS } from '../packages/core/src/registry/vacs.js'
import { WORKER_OPTIONS } from '../packages/core/src/interpreter/worker-interpreter.js'
import { DOCUMENTS_OPTIONS } from '../packages/documents/src/interpreters/documents-interpreter.js'
import { FOLDER_OPTIONS } from '../packages/documents/src/folder/folder-options.js'
import { OPENAI_OPTIONS } from '../packages/documents/src/interpreters/openai-interpreter.js'
import { GATEWAY_RULES } from '../packages/mcp-gateway/src/options.js'
import { PLUGIN_RULES } from '../packages/mcp-gateway/src/plugin-options.js'
import { LIMITS as MCP_LIMITS, OPTIONS as MCP_OPTIONS } from '../packages/mcp-server/src/options.js'
import { VAC_TOOLS_OPTIONS } from '../packages/mcp-server/src/sources/vac-tools.js'
import { DELTA_NUMBERS } from '../packages/tasks/src/execution/delta-writer.js'
import { maxOf, type NumberRule } from '../packages/tasks/src/basics/number-options.js'
import { STORE_NUMBERS } from '../packages/tasks/src/sqlite/options.js'
import { DELIVER_NUMBERS, WORK_NUMBERS } from '../packages/tasks/src/store/store-options.js'
import { OPTIONS as VAC_OPTIONS } from '../packages/vac/src/options.js'

type Options = Record<string, unknown>
type Table = Readonly<Record<string, Pick<OptionRule, 'range' | 'default'> & Partial<OptionRule>>>

const streamInterpreter: Interpreter = async () => 'yes'
const vacs = createVacs({ vacs: ['docs'], streamInterpreter })

/** Every table of options, and the function that reads it. */
const TABLES: ReadonlyArray<readonly [name: string, table: Table, read: (options: Options) => unknown]> = [
  ['createVacs', VACS_OPTIONS, options => createVacs({ vacs: ['docs'], streamInterpreter, ...options })],
  ['createVacs: limits', RUN_LIMITS, limits => createVacs({ vacs: ['docs'], streamInterpreter, limits })],
  ['workerInterpreter', WORKER_OPTIONS, options => workerInterpreter('./none.mjs', '.', options)],
  ['openFolder', FOLDER_OPTIONS, options => openFolder({ path: '.', ...options })],
  ['documentsInterpreter', DOCUMENTS_OPTIONS, options => documentsInterpreter({ search: async () => [] }, options)],
  ['openaiInterpreter', OPENAI_OPTIONS, options => openaiInterpreter(options)],
  ['createHost', HOST_OPTIONS, async options => { await (await createHost({ vacs: ['docs'], stream_interpreter: 'echo', ...options })).close() }],
  ['sqliteTaskStore', rulesOf(STORE_NUMBERS), options => sqliteTaskStore({ path: ':memory:', ...options })],
  ['work of a task store', rulesOf(WORK_NUMBERS), async options => { (await openStore()).work(async () => {}, options) }],
  ['deliver of a task store', rulesOf(DELIVER_NUMBERS), async options => { (await openStore()).deliver(async () => 'delivered', options) }],
  ['deltaWriter', rulesOf(DELTA_NUMBERS), options => deltaWriter({ emit: async () => 1 }, options)],
  ['vacPlugin', VAC_OPTIONS, options => register(vacPlugin, { vacs, ...options })],
  ['a2aPlugin', A2A_OPTIONS, async options => { await register(a2aPlugin, { vacs, tasks: await openStore(), ...options }) }],
  ['a2aPlugin: push', PUSH_OPTIONS, async push => { await register(a2aPlugin, { vacs, tasks: await openStore(), push }) }],
  ['a2aGrpc', GRPC_OPTIONS, async options => { await a2aGrpc(Fastify(), options) }],
  ['createGateway', GATEWAY_RULES, options => createGateway({ servers: [], ...options })],
  ['mcpGatewayPlugin', PLUGIN_RULES, options => register(mcpGatewayPlugin, { servers: [], ...options })],
  ['vacTools', VAC_TOOLS_OPTIONS, options => vacTools(vacs, options)],
  ['mcpServerPlugin', MCP_OPTIONS, options => register(mcpServerPlugin, { sources: [], ...options })],
  ['mcpServerPlugin: limits', MCP_LIMITS, limits => register(mcpServerPlugin, { sources: [], limits })]
]

/** Registers a plugin in a new application. */
async function register<T extends object> (plugin: FastifyPluginAsync<T>, options: T & Options): Promise<void> {
  const app = Fastify()
  try {
    await app.register(plugin, options as never)
    await app.ready()
  } finally {
    await app.close()
  }
}

/** A table of @polyvac/tasks, which depends on no other package of Polyvac, as one of core. */
function rulesOf (numbers: Readonly<Record<string, NumberRule>>): Table {
  return Object.fromEntries(Object.entries(numbers).map(([name, rule]) => [name, { default: rule[0], range: { min: rule[1], max: maxOf(name, rule), integer: true } }]))
}

let opened: TaskStore | undefined
async function openStore (): Promise<TaskStore> {
  if (opened === undefined) {
    opened = sqliteTaskStore({ path: ':memory:' })
    await opened.open()
  }
  return opened
}
tap.teardown(async () => { await opened?.close() })

const MAX_TIMER_MS = 2 ** 31 - 1
/** Times for which no timer waits: ages, and times that are reported to clients. */
const AGES = ['conversationTtlMs', 'ttlMs', 'deadAfterMs', 'inputMs', 'inputTtlMs', 'sessionTtlMs', 'stateTtlMs', 'taskInputMs', 'taskTtlMs', 'taskPollMs', 'listTtlMs']

/** What no number option of a range may take. */
function badNumbers ({ min, max, integer }: NonNullable<OptionRule['range']>): unknown[] {
  return [NaN, Infinity, -Infinity, -1, 1.5, 2 ** 31, min - 1, max + 1, '5', null, true, {}, [], 5n]
    .filter(value => typeof value !== 'number' || !(value >= min && value <= max && (!integer || Number.isInteger(value))))
}

for (const [name, table, read] of TABLES) {
  test(`${name} refuses numbers out of range, wrong types and unknown names`, async t => {
    for (const [option, { range, default: fallback }] of Object.entries(table)) {
      if (option.endsWith('Ms') && !AGES.includes(option)) t.ok(range !== undefined && range.integer && range.max <= MAX_TIMER_MS, `${option} is a time that a timer can wait`)
      if (typeof fallback === 'number') t.ok(range !== undefined && fallback >= range.min && fallback <= range.max, `the default of ${option} is within its range`)
      const wrong = range === undefined ? [42n] : badNumbers(range)
      t.ok(wrong.length > 0)
      for (const value of wrong) {
        await t.rejects(async () => { await read({ [option]: value }) }, { code: /^[A-Z0-9_]+$/, message: new RegExp(`\\b${option}\\b.* is `) }, `${option}: ${String(value)}`)
      }
    }
    // the tables of @polyvac/tasks hold only numbers
    if (Object.values(table).some(({ expected }) => expected === undefined)) return
    const long = Object.keys(table).find(option => option.length > 4) ?? ''
    await t.rejects(async () => { await read({ [`${long}x`]: 1 }) }, { message: new RegExp(`no option "[^"]*${long}x"; did you mean "${long}"`) })
  })
}
