import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { indexTools } from '../src/index.js'

interface Task { readonly task: string, readonly query?: string, readonly tools: readonly string[] }

const read = (name: string): any => JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))

/** The tools of the servers that `npm run servers` tries, as the gateway names them. */
const TOOLS = (read('published-tools') as any[]).flatMap(({ server, tools }) => (tools as any[]).map(({ name, description, parameters }) => ({
  name: `${server}__${name}`,
  description,
  inputSchema: { type: 'object', properties: Object.fromEntries(parameters.map((parameter: string) => [parameter, {}])) }
})))

/** How many of the tasks have one of their tools among the first ones. */
function hits (tasks: readonly Task[], first: number, search: (task: Task) => readonly string[]): number {
  return tasks.filter(task => search(task).slice(0, first).some(name => task.tools.includes(name))).length
}

test('what a model looks for is among the first three of 592 tools', async t => {
  const index = await indexTools(TOOLS)
  t.teardown(async () => { await index.close() })
  const named = (query: string): readonly string[] => index.search(query, 10).map(({ name }) => name)
  // no failure of `held_out`, `later` and `spread` was looked at
  for (const [half, tasks] of Object.entries(read('tool-tasks') as Record<string, readonly Task[]>)) {
    const asked = tasks.filter(({ query }) => query !== undefined)
    const found = hits(asked, 3, ({ query = '' }) => named(query))
    const said = [3, 10].map(first => hits(tasks, first, ({ task }) => named(task)))
    t.comment(`${half}: ${found} of ${asked.length} by what a model looks for, ${said.join(' and ')} of ${tasks.length} by what a user says among the first 3 and 10`)
    t.ok(found >= 0.95 * asked.length, half)
    t.ok(said[0]! >= 0.5 * tasks.length, half)
  }
})

test('a tool is found by what users call its action and its things, also with a mistake', async t => {
  const tool = (name: string, description: string) => ({ name, description, inputSchema: {} })
  const index = await indexTools([
    tool('office__list-calendars', 'Get all calendars of a user.'), tool('office__create-calendar', 'Create a calendar.'), tool('office__delete-calendar', 'Delete a calendar.'),
    tool('office__set-message-reaction', 'Set a reaction to a message.'), tool('net__ip_range', 'Calculate an IP range.'), tool('files__read', 'Read a file.')
  ])
  t.teardown(async () => { await index.close() })
  for (const [query, name] of [
    ['get rid of the old calendar', 'office__delete-calendar'], ['I do not need that calender any more', 'office__delete-calendar'],
    ['which calendars do I have', 'office__list-calendars'], ['I need a calendar for the choir', 'office__create-calendar'],
    ['a smiley for her', 'office__set-message-reaction'], ['is 10.0.0.7 one of ours', 'net__ip_range'], ['what is in notes.txt', 'files__read']
  ] as const) t.equal(index.search(query, 3)[0]?.name, name, query)
  t.strictSame(index.search('the of please', 3), [])
})

test('a search among 1,000 tools takes a few milliseconds at most, whatever the query', async t => {
  const index = await indexTools(Array.from({ length: 1_000 }, (_, i) => ({ ...TOOLS[i % TOOLS.length]!, name: `copy${i}__${TOOLS[i % TOOLS.length]!.name}` })))
  t.teardown(async () => { await index.close() })
  for (const query of ['qwertzuio '.repeat(2_000), 'no any '.repeat(10_000), 'a@a@'.repeat(10_000), 'list get create message file '.repeat(1_000)]) {
    t.ok(index.search(query, 5).length <= 5)
  }
})

test('a tool is found by its name, its parameters and the beginning of its description', async t => {
  const inputSchema = { type: 'object', properties: { maxTeaTemperature: { type: 'number' } } }
  const index = await indexTools([
    { name: 'kitchen__brewTea', inputSchema: {} },
    { name: 'kitchen__heat', description: 'Warm something.', inputSchema },
    { name: 'garden__prune', description: `Cut roses. ${'x '.repeat(500)} lawnmower`, inputSchema: { properties: null } }
  ])
  t.teardown(async () => { await index.close() })
  const first = (query: string): string | undefined => index.search(query, 3)[0]?.name
  t.equal(first('brew some tea'), 'kitchen__brewTea')
  t.equal(first('temperature'), 'kitchen__heat')
  t.equal(first('roses in the garden'), 'garden__prune')
  t.strictSame(index.search('lawnmower', 3), [])
  t.strictSame((await indexTools([])).search('anything', 3), [])
  await t.rejects(indexTools(TOOLS, AbortSignal.abort(new Error('left'))), { message: 'left' })
})
