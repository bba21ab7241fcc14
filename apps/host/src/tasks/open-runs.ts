import type { Authenticate, Vacs } from '@polyvac/core'
import type { FastifyBaseLogger } from 'fastify'
import type { HostTasks } from './host-tasks.js'

interface RunsParts {
  readonly vacs: Vacs
  readonly authenticate: Authenticate | undefined
  /** Opens the task engine. */
  readonly tasks: () => Promise<HostTasks>
  /** Whether the configuration names a store: then the host does not start without it. */
  readonly isConfigured: boolean
  readonly log: FastifyBaseLogger
  /** Loads a package; undefined where it is not installed. */
  readonly load: (name: string) => Promise<object | undefined>
}

/** Durable answers of the protocols of @polyvac/vac; undefined where their package or their store is missing. */
export async function openRuns ({ vacs, authenticate, tasks, isConfigured, log, load }: RunsParts): Promise<ReturnType<typeof import('@polyvac/runs').createRuns> | undefined> {
  const module = await load('@polyvac/runs') as typeof import('@polyvac/runs') | undefined
  if (module === undefined) return undefined
  try {
    const { store } = await tasks()
    return module.createRuns({ vacs, tasks: store, authenticate, log })
  } catch (err) {
    if (isConfigured) throw err
    log.warn({ reason: (err as Error).message }, 'answers cannot outlive their connection')
    return undefined
  }
}
