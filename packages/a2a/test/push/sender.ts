import { randomUUID } from 'node:crypto'
import type { Delivery, TaskLogger } from '@polyvac/tasks'
import type { Test } from 'tap'
import { SigningKeys } from '../../src/index.js'
import { AddressGuard, type AddressGuardOptions } from '../../src/push/address-guard.js'
import { pushDeliverer, type PushDeliverer, type PushDelivererOptions, type PushPayload } from '../../src/push/deliver.js'

export const ISSUER = 'https://agent.example'
export const never: AbortSignal = new AbortController().signal

export interface Sender extends PushDeliverer {
  readonly guard: AddressGuard
  readonly keys: SigningKeys
  /** Every log call so far, as text. */
  logged (): string
}

/** A deliverer that ends with the test. */
export async function sender (t: Test, guardOptions: AddressGuardOptions, options: Partial<PushDelivererOptions> = {}): Promise<Sender> {
  const lines: string[] = []
  const write = (fields: object, message?: string): void => { lines.push(`${JSON.stringify(fields)} ${message ?? ''}`) }
  const log: TaskLogger = { debug: write, warn: write, error: write }
  const guard = new AddressGuard(guardOptions)
  const keys = await SigningKeys.generate()
  const payload = async (delivery: Delivery): Promise<PushPayload> => ({ type: 'application/json', body: JSON.stringify({ taskId: delivery.taskId, seq: delivery.event.seq }) })
  const deliverer = pushDeliverer({ guard, keys, issuer: ISSUER, payload, log, ...options })
  t.teardown(() => deliverer.close())
  return { ...deliverer, guard, keys, logged: () => lines.join('\n') }
}

/** One event for the receiver at `url`. */
export function deliveryTo (url: string, more: Partial<Delivery> = {}): Delivery {
  const taskId = more.taskId ?? randomUUID()
  return {
    id: `${taskId}.hook.2`,
    owner: 'alice',
    taskId,
    config: { id: 'hook', taskId, url, settings: {}, createdAt: 0, cursor: 1, disabled: null },
    secrets: {},
    event: { seq: 2, at: 0, state: 'working' } as unknown as Delivery['event'],
    tries: 0,
    ...more
  }
}
