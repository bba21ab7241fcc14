import type { TaskStoreHealth } from '../contract/task-store.js'

const HEALTH_MS = 2_000

/** Checks that a store can write. Those that ask during a check share it. */
export class Health {
  readonly #probe: () => Promise<string | undefined>
  #checking: Promise<TaskStoreHealth> | undefined

  /** @param probe writes; it rejects, or resolves to the problem that it found */
  constructor (probe: () => Promise<string | undefined>) { this.#probe = probe }

  check (): Promise<TaskStoreHealth> {
    this.#checking ??= this.#check().finally(() => { this.#checking = undefined })
    return this.#checking
  }

  async #check (): Promise<TaskStoreHealth> {
    let timer: NodeJS.Timeout | undefined
    try {
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => { reject(new Error(`no answer within ${HEALTH_MS} ms`)) }, HEALTH_MS)
      })
      const detail = await Promise.race([this.#probe(), late])
      return detail === undefined ? { ok: true } : { ok: false, detail }
    } catch (error) {
      return { ok: false, detail: (error as Error).message }
    } finally {
      clearTimeout(timer)
    }
  }
}
