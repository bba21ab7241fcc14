import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { whenStarted } from '../doctor/service.js'
import { UsageError } from '../errors.js'
import { readEvalFile } from '../eval/eval-file.js'
import { evaluate, type EvalResult } from '../eval/evaluate.js'
import { junitOf } from '../eval/junit.js'
import { toPlainText } from '../terminal.js'
import { withService } from './with-service.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/**
 * `polyvac eval`: asks the questions of a file, at the service of `--url` or at the one of the configuration, and
 * compares the answers with what the file expects. The exit code is 1 if one is different.
 */
export async function evaluation (args: Arguments, io: CommandIo): Promise<void> {
  const [path] = args.words
  if (path === undefined) throw new UsageError('name the file with the cases, for example: polyvac eval evaluation.yaml')
  const file = await readEvalFile(resolve(io.cwd(), path))
  const stop = new AbortController()
  const onInterrupt = (): void => stop.abort(new Error('interrupted'))
  io.once('SIGINT', onInterrupt)
  // @keyed none: one for each case of the file; MAX_EVAL_CASES
  const results: EvalResult[] = []
  try {
    await withService(args, io, args.url, async (client, config) => {
      if (config !== undefined) await whenStarted(client)
      for await (const result of evaluate(client, file, config?.vac[file.vac] ?? {}, stop.signal)) {
        results.push(result)
        io.stdout.write(args.json ? `${JSON.stringify(result)}\n` : toLines(result))
      }
    })
  } catch (err) {
    if (!stop.signal.aborted) throw err
    io.exitCode = 1
  } finally {
    io.off('SIGINT', onInterrupt)
    if (args.junit !== undefined) await writeFile(resolve(io.cwd(), args.junit), junitOf(path, file.vac, results))
  }
  if (stop.signal.aborted) return
  const failed = results.filter(({ result }) => result !== 'passed').length
  if (!args.json) io.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
  if (failed > 0) io.exitCode = 1
}

function toLines ({ result, ms, question, problems }: EvalResult): string {
  const head = `${result.padEnd(6)}  ${(ms / 1_000).toFixed(1).padStart(6)} s  ${question}`
  return [head, ...problems.map(problem => `${' '.repeat(18)}${problem}`)].map(line => `${toPlainText(line)}\n`).join('')
}
