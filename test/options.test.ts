import Fastify, { type FastifyPluginAsync } from 'fastify'
import { test } from 'tap'
import { createVacs, workerInterpreter, type Interpreter } from '@polyvac/core'
import type { OptionRule } from '@polyvac/core/plugin'
import { documentsInterpreter, openaiInterpreter, openFolder } from '@polyvac/documents'
import { vacPlugin } from '@polyvac/vac'
import { RUN_LIMITS } from '../packages/core/src/run-interpreter.js'
import { VACS_OPTIONS } from '../packages/core/src/vacs.js'
import { WORKER_OPTIONS } from '../packages/core/src/worker-interpreter.js'
import { DOCUMENTS_OPTIONS } from '../packages/documents/src/documents-interpreter.js'
import { FOLDER_OPTIONS } from '../packages/documents/src/folder-options.js'
import { OPENAI_OPTIONS } from '../packages/documents/src/openai-interpreter.js'
import { OPTIONS as VAC_OPTIONS } from '../packages/vac/src/options.js'

type Options = Record<string, unknown>
type Table = Readonly<Record<string, Pick<OptionRule, 'range' | 'default'>>>

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
  ['vacPlugin', VAC_OPTIONS, options => register(vacPlugin, { vacs, ...options })]
]

/** Registers a plugin in an application of its own. */
async function register<T extends object> (plugin: FastifyPluginAsync<T>, options: T & Options): Promise<void> {
  const app = Fastify()
  try {
    await app.register(plugin, options as never)
    await app.ready()
  } finally {
    await app.close()
  }
}

const MAX_TIMER_MS = 2 ** 31 - 1

/** What no number option of a range may take. */
function badNumbers ({ min, max, integer }: NonNullable<OptionRule['range']>): unknown[] {
  return [NaN, Infinity, -Infinity, -1, 1.5, 2 ** 31, min - 1, max + 1, '5', null, true, {}, [], 5n]
    .filter(value => typeof value !== 'number' || !(value >= min && value <= max && (!integer || Number.isInteger(value))))
}

for (const [name, table, read] of TABLES) {
  test(`${name} refuses numbers out of range, wrong types and unknown names`, async t => {
    for (const [option, { range, default: fallback }] of Object.entries(table)) {
      if (option.endsWith('Ms')) t.ok(range !== undefined && range.integer && range.max <= MAX_TIMER_MS, `${option} is a time that a timer can wait`)
      if (typeof fallback === 'number') t.ok(range !== undefined && fallback >= range.min && fallback <= range.max, `the default of ${option} is within its range`)
      const wrong = range === undefined ? [42n] : badNumbers(range)
      t.ok(wrong.length > 0)
      for (const value of wrong) {
        await t.rejects(async () => { await read({ [option]: value }) }, { code: /^[A-Z_]+$/, message: new RegExp(`\\b${option}\\b.* is `) }, `${option}: ${String(value)}`)
      }
    }
    const long = Object.keys(table).find(option => option.length > 5) ?? ''
    await t.rejects(async () => { await read({ [`${long}x`]: 1 }) }, { message: new RegExp(`no option "[^"]*${long}x"; did you mean "${long}"`) })
  })
}
