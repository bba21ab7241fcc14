import { createHost } from '../create-host.js'
import { checkA2a } from '../doctor/a2a.js'
import { problem, type Check, type Finding } from '../doctor/finding.js'
import { checkCors, checkMcp } from '../doctor/mcp.js'
import { checkReachable, checkService } from '../doctor/service.js'
import { environmentOptions } from '../environment.js'
import { describeFailure, HttpClient } from '../http-client.js'
import { listen } from '../listen.js'
import { loadConfig } from '../load-config.js'
import { toPlainText } from '../terminal.js'
import type { Arguments } from '../arguments.js'

const CHECKS: Readonly<Record<string, Check>> = { service: checkService, a2a: checkA2a, mcp: checkMcp, cors: checkCors }

/**
 * `polyvac doctor`: checks a running service, or starts the one of the configuration on a free port and checks that.
 * It writes one line for each check, and the exit code is 1 if there are problems.
 */
export async function doctor (args: Arguments): Promise<void> {
  const [url] = args.words
  if (url !== undefined) return await examine(new HttpClient(url, args.headers), args.json)
  const config = await loadConfig(args)
  const app = await createHost({
    config, ...environmentOptions(config), watchDocuments: false, server: { logger: { level: 'error', stream: process.stderr } }
  })
  try {
    const address = await listen(app, { host: '127.0.0.1', port: 0 })
    await examine(new HttpClient(address, args.headers), args.json)
  } finally {
    await app.close()
  }
}

async function examine (client: HttpClient, json: boolean): Promise<void> {
  const findings: Finding[] = []
  for await (const finding of findingsOf(client)) {
    findings.push(finding)
    const { level, check, text, remedy } = finding
    process.stdout.write(json
      ? `${JSON.stringify(finding)}\n`
      : `${toPlainText(`${level.padEnd(11)}  ${check}: ${text}${remedy === undefined ? '' : `; ${remedy}`}`)}\n`)
  }
  const count = (level: Finding['level']): number => findings.filter(finding => finding.level === level).length
  if (!json) process.stdout.write(`${count('ok')} ok, ${count('warning')} warnings, ${count('problem')} problems, ${count('not checked')} not checked\n`)
  if (count('problem') > 0) process.exitCode = 1
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
