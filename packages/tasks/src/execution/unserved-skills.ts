import type { WorkOptions } from '../contract/task-store.js'

/**
 * Skills of waiting tasks that a worker has met and does not serve: it leaves these tasks to other workers. Their names
 * are not known before a task has one of them.
 */
export class UnservedSkills {
  readonly #serves: WorkOptions['serves']
  // @keyed skill of a waiting task | holds: its name | whose: the owner of the task | bound: the skills of the tasks
  //   that wait, so maxTasks; MAX_NAME each; emptied every `purgeMs` | share: that of the tasks | test:
  //   packages/tasks/test/conformance.ts: a worker takes only tasks whose skill it serves
  readonly #met = new Set<string>()

  constructor (serves: WorkOptions['serves']) { this.#serves = serves }

  /** Whether the worker serves the skill now; the claims after this one pass over one that it does not. */
  serves (skill: string): boolean {
    if (this.#serves === undefined || this.#serves(skill)) return true
    this.#met.add(skill)
    return false
  }

  has (skill: string): boolean { return this.#met.has(skill) }

  /** Those that the worker still does not serve. */
  list (): readonly string[] {
    for (const skill of this.#met) if (this.#serves?.(skill) === true) this.#met.delete(skill)
    return [...this.#met]
  }

  clear (): void { this.#met.clear() }
}
