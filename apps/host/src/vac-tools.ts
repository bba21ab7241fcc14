import type { FunctionTools, ListedTool, VacConfig } from '@polyvac/core'
import { DESTRUCTIVE, quoteName, selectTools, type ToolChoice } from '@polyvac/core/plugin'
import type { Gateway, McpServerConfig } from '@polyvac/mcp-gateway'
import { setTimeout as delay } from 'node:timers/promises'
import { withNotes, type Note } from './config/notes.js'
import { AgentsError, VacToolsError } from './errors.js'
import { serversOf } from './gateway.js'
import type { Settings } from './host-options.js'

/** Between two comparisons with the lists of MCP servers, in ms: a server may announce changes all the time. */
const PAUSE_MS = 1_000
const LISTS = ['tools', 'approve'] as const
type Named = Pick<Settings, 'vacs' | 'serverNames' | 'switches' | 'streamInterpreter'>
type Choice = ToolChoice<ReturnType<FunctionTools['list']>[number]>

function choiceFor (vac: string, { vacs, serverNames: servers, switches: { a2a_agents: agents } }: Named, tools: FunctionTools | undefined, listed: readonly ListedTool[]): Choice {
  return { listed, servers, functions: tools?.list() ?? [], vacs: Object.keys(vacs).filter(other => other !== vac), remote: agents?.map(({ name }) => name) ?? [] }
}

/** What the lists of a VAC name and is not there; and, of an agent, two tools of one name. */
function notesOn (vac: string, config: VacConfig, choice: Choice, isAgent: boolean): Note[] {
  const notes = LISTS.flatMap(key => {
    const names = key === 'approve' ? (config[key] ?? []).filter(entry => entry !== DESTRUCTIVE) : config[key] ?? []
    return selectTools(names, choice).problems.map(({ entry, message }) => ({ path: ['vac', vac, key, config[key]!.indexOf(entry!)], message }))
  })
  if (!isAgent || config.tools !== undefined) return notes
  return [...notes, ...selectTools(undefined, choice).problems.map(({ message }) => ({ path: ['vac', vac], message }))]
}

const isAgent = ({ interpreter }: VacConfig, { streamInterpreter }: Named): boolean => (interpreter ?? streamInterpreter) === 'agent'

/**
 * Notes on tools that models are offered without a description.
 * @throws A2A_AGENTS for an agent with the name of a tool, VAC_TOOLS for a VAC whose list `tools` or `approve` names
 *   what there is not, or has two tools of one name, or one with the name of a tool of the agent itself
 */
export async function checkTools (settings: Named, tools: FunctionTools | undefined): Promise<Note[]> {
  const { vacs, switches: { a2a_agents: agents = [] } } = settings
  const taken = tools?.list().find(({ name }) => agents?.some(agent => agent.name === name))
  if (taken !== undefined) throw new AgentsError('a2a_agents', `${quoteName(taken.name)} is an agent and a tool of the application; rename one of them`)
  // @keyed none: names of tools of the application
  const undescribed = new Set<string>()
  for (const [name, config] of Object.entries(vacs)) {
    // of a program: those of a file are checked
    for (const key of LISTS) {
      const list: unknown = config[key] ?? []
      if (!Array.isArray(list) || !list.every(entry => typeof entry === 'string')) throw new VacToolsError(JSON.stringify(name), `\`${key}\` must be a list of texts`)
    }
    const choice = choiceFor(name, settings, tools, [])
    const notes = notesOn(name, config, choice, isAgent(config, settings))
    if (isAgent(config, settings)) {
      const { ownToolNames } = await import('@polyvac/agent')
      const own = ownToolNames((config.memory ?? []).length > 0)
      for (const offered of selectTools(config.tools, choice).tools) {
        if (own.includes(offered.name)) {
          const what = offered.kind === 'function' ? 'tool of the application' : 'remote agent'
          notes.push({ path: config.tools === undefined ? ['vac', name] : ['vac', name, 'tools', config.tools.indexOf(offered.name)], message: `the ${what} ${quoteName(offered.name)} has the name of a tool that an agent has itself; rename it` })
        }
        if (offered.kind === 'function' && (offered.tool.description ?? '') === '') undescribed.add(offered.tool.name)
      }
    }
    if (notes.length > 0) throw withNotes(new VacToolsError(JSON.stringify(name), notes.map(({ message }) => message).join('; ')), notes)
  }
  if (undescribed.size === 0) return []
  return [{ path: ['service', 'tools'], message: `a model chooses a tool by its description, and these have none: ${[...undescribed].map(quoteName).join(', ')}`, hint: 'add `description`' }]
}

/** What the lists of VACs name of MCP servers that answer, and that those do not have. */
async function compareLists (settings: Named, tools: FunctionTools | undefined, gateway: Gateway): Promise<Note[]> {
  const named = Object.entries(settings.vacs).filter(([, config]) => LISTS.some(key => config[key] !== undefined) || isAgent(config, settings))
  // the gateway compares those of its entries when it reads a list
  const isRead = named.length > 0 || Object.values(serversOf(settings.switches.mcp_servers)).some(({ allow, deny, approve }: McpServerConfig) => (allow ?? deny ?? approve) !== undefined)
  // owners may have different tools
  const ready = isRead ? gateway.status().filter(({ name, state }) => state === 'ready' && !gateway.get(name).isPerOwner) : []
  const lists = await Promise.all(ready.map(async ({ name: server }): Promise<ListedTool[]> => {
    const items = await gateway.get(server).list('tools').catch(() => [])
    return items.map(({ name }) => ({ server, name: String(name), description: '', inputSchema: {} }))
  }))
  return named.flatMap(([name, config]) => notesOn(name, config, choiceFor(name, settings, tools, lists.flat()), isAgent(config, settings)))
}

/**
 * Compares the lists of VACs with those of MCP servers once these are known, and after each change.
 * @param current the settings and the tools that are in force
 * @returns the function that begins a comparison, such as after a reload
 */
export function followTools (gateway: Gateway, current: () => readonly [Named, FunctionTools | undefined], onNotes: (notes: readonly Note[]) => Promise<void>, signal: AbortSignal): () => void {
  let isRunning = false
  let isStale = false
  const compare = (): void => {
    isStale = true
    if (isRunning || signal.aborted) return
    isRunning = true
    const run = async (): Promise<void> => {
      while (isStale && !signal.aborted) {
        isStale = false
        await onNotes(await compareLists(...current(), gateway))
        await delay(PAUSE_MS, undefined, { signal, ref: false })
      }
    }
    // a server that leaves meanwhile is compared when it is ready again
    run().catch(() => {}).finally(() => { isRunning = false })
  }
  gateway.onChange(kinds => { if (kinds.includes('tools')) compare() })
  return compare
}
