/** Runs checks part by part, prints each result, and counts. A failed check does not end its part. */
export class Report {
  passed = 0
  failed = 0
  #lines = []

  /** Runs `work(check)`; `check(sentence, step)` runs one step, prints its figure if it has one, returns its value. */
  async part (name, work) {
    const before = { passed: this.passed, failed: this.failed }
    const start = performance.now()
    process.stdout.write(`\n${name}\n`)
    try {
      await work((sentence, step) => this.#check(sentence, step))
    } catch (err) {
      this.fail(`${name} runs to its end`, err)
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    this.#lines.push(`${name}: ${this.passed - before.passed} passed, ${this.failed - before.failed} failed, ${seconds} s`)
  }

  fail (sentence, err) {
    this.failed++
    process.stdout.write(`FAIL  ${sentence}\n${indent(err instanceof Error ? err.message : String(err))}\n`)
  }

  lines () {
    return this.#lines
  }

  async #check (sentence, step) {
    const start = performance.now()
    try {
      const value = await step()
      this.passed++
      const seconds = (performance.now() - start) / 1000
      const figures = [typeof value === 'string' ? value : undefined, seconds < 1 ? undefined : `${seconds.toFixed(1)} s`]
      process.stdout.write(`  ok  ${[sentence, ...figures.filter(figure => figure !== undefined)].join(', ')}\n`)
      return value
    } catch (err) {
      this.fail(sentence, err)
      return undefined
    }
  }
}

function indent (text) {
  return text.split('\n').slice(0, 60).map(line => `      ${line}`).join('\n')
}
