import { StoreFullError } from '../errors.js'
import type { TaskStoreHealth } from '../task-store.js'
import type { Connection } from './connection.js'
import type { Room } from './room.js'

const HEALTH_MS = 2_000

/** Checks that the store can write, and that messages arrive. Those that ask during a check share it. */
export class Health {
  readonly #connection: Connection
  readonly #room: Room
  readonly #replica: number
  #checking: Promise<TaskStoreHealth> | undefined

  constructor (connection: Connection, room: Room, replica: number) {
    this.#connection = connection
    this.#room = room
    this.#replica = replica
  }

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
      await Promise.race([this.#connection.run(`INSERT INTO ${this.#connection.table('probe')} (id, at) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET at = excluded.at`, [this.#replica, this.#connection.now()]), late])
      if (this.#room.isFull) throw new StoreFullError('the task store')
      const { problem } = this.#connection.listener
      return problem === undefined ? { ok: true } : { ok: false, detail: problem }
    } catch (error) {
      return { ok: false, detail: (error as Error).message }
    } finally {
      clearTimeout(timer)
    }
  }
}
