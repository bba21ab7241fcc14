import { checkA2a } from '../doctor/a2a.js'
import { checkBodyLimit } from '../doctor/bodies.js'
import { checkCors } from '../doctor/cors.js'
import { checkNode } from '../doctor/environment.js'
import { problem, type Check, type Finding } from '../doctor/finding.js'
import { checkAgUi, checkAiSdk } from '../doctor/front-ends.js'
import { checkMcp } from '../doctor/mcp.js'
import { checkModels } from '../doctor/models.js'
import { checkPackages } from '../doctor/packages.js'
import { checkResponses } from '../doctor/responses.js'
import { checkRuns } from '../doctor/runs.js'
import { checkReachable, checkService } from '../doctor/service.js'
import { describeFailure, type HttpClient } from '../client/http-client.js'
import { loadConfig } from '../load-config.js'
import { toPlainText } from '../terminal.js'
import { withService } from './with-service.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

const CHECKS: Readonly<Record<string, Check>> = {
  service: checkService,
  a2a: checkA2a,
  mcp: checkMcp,
  runs: checkRuns,
  responses: checkResponses,
  'ai sdk': checkAiSdk,
  'ag-ui': checkAgUi,
  'body limit': checkBodyLimit,
  cors: checkCors
}

/**
 * `polyvac doctor`: checks a running service, or starts the one of the configuration on a free port and checks that.
 * It writes one line for each check, and the exit code is 1 if there are problems.
 */
export async function doctor (args: Arguments, io: CommandIo): Promise<void> {
  const { words: [url], json } = args
  // @keyed none: a list of one run of a command
  const findings: Finding[] = []
  const write = (finding: Finding): void => {
    findings.push(finding)
    const { level, check, text, remedy } = finding
    io.stdout.write(json
      ? `${JSON.stringify(finding)}\n`
      : `${toPlainText(`${level.padEnd(11)}  ${check}: ${text}${remedy === undefined ? '' : `; ${remedy}`}`)}\n`)
  }
  if (url === undefined) write(checkNode())
  try {
    if (url === undefined) {
      const config = await loadConfig(args, io)
      for (const finding of checkPackages(config, io.env)) write(finding)
      for await (const finding of checkModels(config)) write(finding)
    }
    await withService(args, io, url, async client => {
      for await (const finding of findingsOf(client)) write(finding)
    })
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === undefined || code === 'USAGE' || url !== undefined) throw err
    write(problem('configuration', message, 'repair it; polyvac check reports all problems of the configuration'))
  }
  const count = (level: Finding['level']): number => findings.filter(finding => finding.level === level).length
  if (!json) io.stdout.write(`${count('ok')} ok, ${count('warning')} warnings, ${count('problem')} problems, ${count('not checked')} not checked\n`)
  if (count('problem') > 0) io.exitCode = 1
}

/** All findings about a service. A service that cannot be reached has one. */
export async function * findingsOf (client: HttpClient): AsyncGenerator<Finding> {
  const reachable = await checkReachable(client)
  yield reachable
  if (reachable.level === 'problem') return
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      yield * check(client)
    } catch (err) {
      yield problem(name, describeFailure(err), 'read the log of the service and of the proxy before it')
    }
  }
}
