import type { Log } from '@polyvac/core'
import { DESTRUCTIVE, quoteName, suggestion } from '@polyvac/core/plugin'
import type { NamedServer } from '../config/server-config.js'
import { fingerprintOf, hash } from '../protocol/fingerprint.js'
import type { Item, LeftOutTool } from '../protocol/lists.js'

/** Changes that a status names. */
const MAX_CHANGES = 20
/** Tools whose being left out is logged. */
const MAX_REPORTED = 200
/** The keys of an entry that name its tools. */
const NAMING = ['allow', 'deny', 'approve'] as const

export interface ToolChange { readonly tool: string, readonly change: 'added' | 'changed' | 'removed', readonly at: string }

/**
 * The fingerprints of the tools of one server, over its restarts. A model follows descriptions, so a server that
 * changes one after it was checked gives the model other instructions. Changes are logged; a `pin` holds changed and
 * new tools back.
 */
export class ToolChanges {
  readonly #server: string
  readonly #pin: boolean | string
  readonly #log: Log
  readonly #entry: Pick<NamedServer, typeof NAMING[number] | 'per_owner'>
  /** Fingerprints by tool: those of the last list. */
  #last: ReadonlyMap<string, string> | undefined
  /** The same of the list that was accepted. */
  #accepted: ReadonlyMap<string, string> | undefined
  /** Fingerprint of the last list. */
  fingerprint: string | undefined
  changes: readonly ToolChange[] = []
  /** Tools of the last list that were left out. */
  leftOut: readonly LeftOutTool[] = []
  /** Names in the entry that the last list does not have, each with the remedy: most are typing errors. */
  unknown: readonly string[] = []
  // @keyed tool that a server listed, and why it is left out | holds: nothing more | whose: the server | bound:
  //   MAX_REPORTED; a name has at most MAX_NAME_CHARS | share: only the server: later ones are not logged | test:
  //   packages/mcp-gateway/test/hostile-lists.test.ts: hostile definitions are cleaned or left out with the reason,
  //   and hide no other tool
  readonly #reported = new Set<string>()

  constructor (server: string, pin: boolean | string = false, log: Log, entry: Pick<NamedServer, typeof NAMING[number] | 'per_owner'> = {}) {
    this.#server = server
    this.#pin = pin
    this.#log = log
    this.#entry = entry
  }

  /** Compares a list with the last one, and its names with those in the entry; returns the tools that are held back. */
  readonly review = (items: readonly Item[], leftOut: readonly LeftOutTool[], names?: readonly string[]): readonly LeftOutTool[] => {
    if (names !== undefined) this.#compareNames(names)
    const held = this.#heldBack(items)
    this.leftOut = [...held, ...leftOut]
    for (const { tool, problem } of this.leftOut.slice(0, MAX_CHANGES)) this.#report(tool, problem)
    return held
  }

  #compareNames (names: readonly string[]): void {
    // owners may have different tools
    if (this.#entry.per_owner === true) return
    const known = new Set(names)
    this.unknown = NAMING.flatMap(key => (this.#entry[key] ?? []).filter(name => !known.has(name) && !(key === 'approve' && name === DESTRUCTIVE))
      .map(name => `\`${key}\` names ${quoteName(name)}, which is not a tool of the server; ${suggestion(name, names, 'its tools')}`))
    const problems = this.unknown.slice(0, MAX_CHANGES).filter(problem => this.#isNew(problem))
    if (problems.length > 0) this.#log.warn({ mcpServer: this.#server, problems }, 'the entry of an MCP server names tools that it does not have')
  }

  #report (tool: string, problem: string): void {
    if (this.#isNew(`${tool} ${problem}`)) this.#log.warn({ mcpServer: this.#server, tool, problem }, 'a tool is left out')
  }

  /** Lists are read repeatedly: one warning for each tool. */
  #isNew (key: string): boolean {
    if (this.#reported.has(key) || this.#reported.size >= MAX_REPORTED) return false
    this.#reported.add(key)
    return true
  }

  #heldBack (items: readonly Item[]): LeftOutTool[] {
    const prints = new Map(items.map(item => [item.name as string, fingerprintOf(item)]))
    this.fingerprint = hash([...prints].flat())
    this.#compare(prints)
    this.#last = prints
    if (this.#pin === false) return []
    // `true` accepts the first list of this process
    if (this.#pin === this.fingerprint || (this.#pin === true && this.#accepted === undefined)) this.#accepted = prints
    const accepted = this.#accepted
    return [...prints].filter(([name, print]) => accepted?.get(name) !== print).map(([tool]) => ({
      tool,
      problem: accepted?.has(tool) === true ? 'held back: it changed after it was accepted' : 'held back: it is not on the list that was accepted'
    }))
  }

  #compare (prints: ReadonlyMap<string, string>): void {
    const last = this.#last
    if (last === undefined) return
    const at = new Date().toISOString()
    const found = [
      ...[...prints].filter(([name, print]) => last.get(name) !== print).map(([tool]) => ({ tool, change: last.has(tool) ? 'changed' as const : 'added' as const, at })),
      ...[...last.keys()].filter(name => !prints.has(name)).map(tool => ({ tool, change: 'removed' as const, at }))
    ]
    if (found.length === 0) return
    this.changes = [...found, ...this.changes].slice(0, MAX_CHANGES)
    const changes = found.slice(0, MAX_CHANGES).map(({ tool, change }) => `${tool} ${change}`)
    this.#log.warn({ mcpServer: this.#server, changes, count: found.length }, 'the tools of an MCP server changed')
  }
}
