import type { Progress, Step } from '@polyvac/core'
import { STEP } from '@polyvac/mcp-protocol'
import type { CallContext } from '../tool-source.js'

/** The smallest share that is sent; a total must be finite. */
const MIN_SHARE = 0.001

/**
 * The progress notifications of one call to a VAC. `progress` grows with each of them, as MCP requires. Text has no
 * `total`; what an interpreter reports has one, and `progress / total` is the share that the interpreter named.
 */
export class VacProgress {
  readonly #context: Pick<CallContext, 'progress'>
  #sent = 0

  constructor (context: Pick<CallContext, 'progress'>) {
    this.#context = context
  }

  text (text: string): Promise<void> | undefined {
    this.#sent += text.length
    return this.#context.progress({ progress: this.#sent, message: text })
  }

  step (step: Step): Promise<void> | undefined {
    this.#sent++
    return this.#context.progress({ progress: this.#sent, _meta: { [STEP]: step } })
  }

  report ({ progress, message }: Progress): Promise<void> | undefined {
    this.#sent++
    const total = this.#sent / Math.max(progress, MIN_SHARE)
    return this.#context.progress({ progress: this.#sent, total, message })
  }
}
