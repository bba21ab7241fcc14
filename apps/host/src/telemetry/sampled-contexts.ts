import { createContextKey, ROOT_CONTEXT, type Context, type ContextManager } from '@opentelemetry/api'
import type * as Api from '@opentelemetry/api'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ContextKeeper } from '@polyvac/core/plugin'

/**
 * Keeps contexts in an AsyncLocalStorage while a span is open, and switches it off after that: on Node.js before 24
 * each promise of the process pays for a storage that is on, a chunk of a stream up to 80 % of its time.
 */
export class SampledContexts implements ContextManager, ContextKeeper {
  readonly #storage = new AsyncLocalStorage<Context>()
  #open = 0
  /** The context of a step that runs while the storage is off, such as an export: asynchronous parts do not see it. */
  #current = ROOT_CONTEXT

  constructor (readonly keepsNext: () => boolean) {}

  get isOn (): boolean { return this.#open > 0 }
  get isIdle (): boolean { return !this.isOn && this.#current === ROOT_CONTEXT }

  /** Whether the API has taken this manager: it keeps the first one that it is given. */
  isUsedBy ({ context }: Pick<typeof Api, 'context'>): boolean {
    const own = ROOT_CONTEXT.setValue(createContextKey('polyvac'), true)
    return context.with(own, () => this.active() === own)
  }

  enter (): void { this.#open++ }

  leave (): void {
    if (--this.#open === 0) this.#storage.disable()
  }

  active (): Context {
    return (this.isOn ? this.#storage.getStore() : undefined) ?? this.#current
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>> (context: Context, step: F, self?: ThisParameterType<F>, ...args: A): ReturnType<F> {
    if (this.isOn) return this.#storage.run(context, () => step.apply(self, args))
    const before = this.#current
    this.#current = context
    try {
      return step.apply(self, args)
    } finally {
      this.#current = before
    }
  }

  bind<T> (context: Context, target: T): T {
    if (typeof target !== 'function') return target
    const bound = (...args: unknown[]): unknown => this.with(context, target as unknown as (...args: unknown[]) => unknown, undefined, ...args)
    return bound as T
  }

  enable (): this { return this }

  disable (): this {
    this.#storage.disable()
    return this
  }
}
