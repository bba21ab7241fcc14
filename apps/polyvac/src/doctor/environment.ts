import { readFileSync } from 'node:fs'
import { ok, problem, type Finding } from './finding.js'

/** The Node.js of this machine, which also runs the service of the configuration. */
export function checkNode (version = process.versions.node): Finding {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } }
  const needed = /\d+\.\d+\.\d+/.exec(engines.node)![0]
  return version.localeCompare(needed, 'en', { numeric: true }) >= 0
    ? ok('node.js', `${version} is at least ${needed}`)
    : problem('node.js', `${version} is older than ${needed}`, `install Node.js ${needed} or newer`)
}
