// `npm run fuzz`: feeds the targets of targets.mjs with changed bytes, and keeps those that reach new code. The default
// is a fixed number of inputs; `--minutes N` runs longer, `--target name` one target, `--seed N` repeats a run, and
// `--input <base64>` with a target runs one input. Ends with `fuzz: N passed, N failed`, by targets.
import { parseArgs } from 'node:util'
import { Coverage } from './coverage.mjs'
import { mutate, random } from './mutate.mjs'
import { closeTargets, TARGETS } from './targets.mjs'

const INPUTS = 1_500
/** Longest run of the fixed number for one target, in ms: a busy machine does fewer. */
const MAX_MS = 60_000
/** Reading the coverage costs more than most inputs. */
const BATCH = 20
const MAX_BYTES = 4_096
const MAX_CORPUS = 2_000
/** An input that takes longer, in ms, is reported, and fails where no busy machine explains it. */
const SLOW_INPUT_MS = 5_000
const MAX_INPUT_MS = 120_000

const { values } = parseArgs({ options: { minutes: { type: 'string' }, target: { type: 'string' }, seed: { type: 'string', default: '1' }, input: { type: 'string' } } })
const minutes = Number(values.minutes ?? 0)
const seed = Number(values.seed)
const targets = TARGETS.filter(({ name }) => values.target === undefined || name === values.target)
let failed = targets.length === 0 ? 1 : 0
for (const target of targets) {
  const failure = values.input === undefined ? await fuzz(target) : await attempt(target, Buffer.from(values.input, 'base64'))
  if (failure === undefined) continue
  failed++
  process.stdout.write(`failed: ${target.holds}\n  ${failure.stack ?? failure}\n`)
}
await closeTargets()
process.stdout.write(`fuzz: ${Math.max(0, targets.length - failed)} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1

/** The first failure of a target, if there is one. */
async function fuzz (target) {
  const next = random(seed)
  const corpus = target.seeds.map(text => Buffer.from(text))
  for (const bytes of corpus) {
    const failure = await attempt(target, bytes)
    if (failure !== undefined) return failure
  }
  const coverage = new Coverage()
  const began = performance.now()
  const isOver = inputs => minutes > 0
    ? performance.now() - began > minutes * 60_000 / targets.length
    : inputs >= INPUTS || performance.now() - began > MAX_MS
  try {
    coverage.add(coverage.take())
    let inputs = 0
    while (!isOver(inputs)) {
      const batch = Array.from({ length: BATCH }, () => mutate(corpus, next, MAX_BYTES))
      for (const bytes of batch) {
        inputs++
        const failure = await attempt(target, bytes)
        if (failure !== undefined) return failure
      }
      const found = coverage.take()
      if (found.size === 0) continue
      // once more, one by one: those that reach the new places are kept
      for (const bytes of batch) {
        const failure = await attempt(target, bytes)
        if (failure !== undefined) return failure
        const reached = coverage.take()
        if ([...reached].some(place => found.has(place)) && corpus.length < MAX_CORPUS) corpus.push(bytes)
        coverage.add(reached)
      }
      coverage.add(found)
    }
    const ms = Math.round(performance.now() - began)
    process.stdout.write(`${target.name}: ${inputs} inputs in ${ms} ms, ${coverage.size} places reached, ${corpus.length} kept\n`)
  } finally {
    coverage.close()
  }
}

async function attempt (target, bytes) {
  const run = async () => {
    const began = performance.now()
    await target.run(bytes)
    return performance.now() - began
  }
  try {
    const ms = await run()
    if (ms > MAX_INPUT_MS) throw new Error(`it took ${Math.round(ms)} ms`)
    if (ms > SLOW_INPUT_MS) process.stdout.write(`slow: ${target.name}: ${Math.round(ms)} ms for --input ${bytes.toString('base64')}\n`)
  } catch (err) {
    process.stdout.write(`${target.name} fails: npm run fuzz -- --target ${target.name} --input ${bytes.toString('base64')}\n`)
    return err
  }
}
