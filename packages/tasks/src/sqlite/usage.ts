import type { SqliteDatabase } from '@polyvac/sqlite'
import type { KeyRanges } from './key-ranges.js'

interface Used { tasks: number, bytes: number }

/**
 * How many tasks each owner has, and about how many bytes they take, in memory: a row for each owner would be rewritten
 * with every event. Tasks of other processes are counted at the next `count`.
 */
export class Usage {
  tasks = 0
  #owners = new Map<string, Used>()
  #counting: Map<string, Used> | undefined
  readonly #ranges: KeyRanges
  readonly #step

  constructor (database: SqliteDatabase, ranges: KeyRanges) {
    this.#ranges = ranges
    this.#step = database.prepare("SELECT owner, count(*) AS tasks, sum(bytes) AS bytes FROM task WHERE key BETWEEN ? AND ? AND owner <> '' GROUP BY owner")
  }

  of (owner: string): Readonly<Used> { return this.#owners.get(owner) ?? { tasks: 0, bytes: 0 } }

  add (owner: string, tasks: number, bytes: number): void {
    this.tasks += tasks
    addTo(this.#owners, owner, tasks, bytes)
    if (this.#counting !== undefined) addTo(this.#counting, owner, tasks, bytes)
  }

  /** The owners with most tasks or bytes, the largest first. */
  largest (by: keyof Used, limit: number): string[] {
    const first: [string, Used][] = []
    for (const one of this.#owners) {
      if (first.length === limit && one[1][by] <= (first.at(-1) as [string, Used])[1][by]) continue
      first.push(one)
      first.sort((a, b) => b[1][by] - a[1][by])
      first.length = Math.min(first.length, limit)
    }
    return first.map(([owner]) => owner)
  }

  /** Counts all tasks again, in steps between which other work goes on. */
  async count (): Promise<void> {
    if (this.#counting !== undefined) return
    const owners = this.#counting = new Map<string, Used>()
    try {
      for await (const range of this.#ranges) {
        for (const { owner, tasks, bytes } of this.#step.all<Used & { owner: string }>(...range)) addTo(owners, owner, tasks, bytes)
      }
      this.#owners = owners
      this.tasks = [...owners.values()].reduce((sum, { tasks }) => sum + tasks, 0)
    } finally {
      this.#counting = undefined
    }
  }
}

function addTo (owners: Map<string, Used>, owner: string, tasks: number, bytes: number): void {
  const used = owners.get(owner)
  if (used === undefined) owners.set(owner, { tasks, bytes })
  else {
    used.tasks += tasks
    used.bytes += bytes
    if (used.tasks <= 0) owners.delete(owner)
  }
}
