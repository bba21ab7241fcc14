export interface Used { tasks: number, bytes: number }
export interface UsedRow extends Used { readonly owner: string }

/**
 * How many tasks each owner has, and about how many bytes they take, in memory: a row for each owner would be rewritten
 * with every event. Tasks of other processes are counted at the next `count`.
 */
export class Usage {
  tasks = 0
  bytes = 0
  // @keyed owner | holds: the number of its tasks and their bytes | whose: the owner | bound: owners with a task,
  //   so maxTasks; an entry ends at 0 | share: the owner: it is the share | test: packages/tasks/test/conformance.ts:
  //   an owner at its share of the tasks loses its own oldest ended task, never one of another owner
  #owners = new Map<string, Used>()
  // @keyed none: it takes the place of `#owners` after a count
  #counting: Map<string, Used> | undefined

  of (owner: string): Readonly<Used> { return this.#owners.get(owner) ?? { tasks: 0, bytes: 0 } }

  add (owner: string, tasks: number, bytes: number): void {
    this.tasks += tasks
    this.bytes += bytes
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

  /** Counts all tasks again, with rows that are read in steps between which other work goes on. */
  async count (steps: AsyncIterable<readonly UsedRow[]>): Promise<void> {
    if (this.#counting !== undefined) return
    const owners = this.#counting = new Map<string, Used>()
    try {
      for await (const rows of steps) for (const { owner, tasks, bytes } of rows) addTo(owners, owner, tasks, bytes)
      this.set(owners)
    } finally {
      this.#counting = undefined
    }
  }

  set (owners: Map<string, Used>): void {
    this.#owners = owners
    this.tasks = this.bytes = 0
    for (const { tasks, bytes } of owners.values()) {
      this.tasks += tasks
      this.bytes += bytes
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
