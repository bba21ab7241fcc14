import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { ToolIndex } from '../src/tools/tool-index.js'

interface Task { readonly task: string, readonly tools: readonly string[] }

const read = (name: string): any => JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))

/** The tools of the servers that `npm run servers` tries, as the gateway names them. */
const TOOLS = (read('published-tools') as any[]).flatMap(({ server, tools }) => (tools as any[]).map(({ name, description, parameters }) => ({
  name: `${server}__${name}`,
  description,
  inputSchema: { type: 'object', properties: Object.fromEntries(parameters.map((parameter: string) => [parameter, {}])) }
})))

/** How many of the tasks find one of their tools among the first three. */
function found (index: ToolIndex<{ name: string, inputSchema: object }>, tasks: readonly Task[], say: (text: string) => void): number {
  return tasks.filter(({ task, tools }) => {
    const names = index.search(task, 3).map(({ name }) => name)
    const isFound = names.some(name => tools.includes(name))
    if (!isFound) say(`${task}: ${names.join(', ')}`)
    return isFound
  }).length
}

test('what people want finds a tool that does it among the first three of 592', async t => {
  const index = await ToolIndex.of(TOOLS)
  const tasks = read('tool-tasks') as Record<string, readonly Task[]>
  for (const half of (process.env.HALVES ?? 'tuned,held_out').split(',')) {
    const hits = found(index, tasks[half]!, text => { t.comment(text) })
    t.comment(`${half}: ${hits} of ${tasks[half]!.length}`)
    t.ok(hits >= 18, half)
  }
})
