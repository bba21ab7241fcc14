import { spawn, type ChildProcess } from 'node:child_process'
import type { Log } from '@polyvac/core'

/** Seconds between SIGTERM and SIGKILL. */
const GRACE_S = 1

/**
 * Reads lists of process groups; the last list counts. At the end of its input, which the host closes or which ends
 * with the host, it ends the groups of that list.
 */
const SCRIPT = `groups=
while read -r line; do groups=$line; done
[ -z "$groups" ] && exit 0
for group in $groups; do kill -TERM "-$group"; done
sleep ${GRACE_S}
for group in $groups; do kill -KILL "-$group"; done`

/**
 * Ends the children of a host that was killed with SIGKILL: a shell of one megabyte reads from a pipe that ends with
 * the host. The shell starts with the first group and ends with the gateway.
 */
export class OrphanWatchdog {
  // @keyed none: the values are numbers of child processes, one for each server of the configuration
  readonly #groups = new Set<number>()
  readonly #log: Log
  #shell: ChildProcess | undefined
  #broken = process.platform === 'win32'

  constructor (log: Log) {
    this.#log = log
  }

  add (group: number): void {
    this.#groups.add(group)
    this.#write()
  }

  remove (group: number): void {
    if (this.#groups.delete(group)) this.#write()
  }

  close (): void {
    this.#groups.clear()
    this.#shell?.stdin?.end('\n')
    this.#shell = undefined
    this.#broken = true
  }

  #write (): void {
    if (this.#broken) return
    this.#shell ??= this.#start()
    this.#shell.stdin?.write(`${[...this.#groups].join(' ')}\n`)
  }

  #start (): ChildProcess {
    // in another group: a signal to the group of the host must not end the shell
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: '/usr/bin:/bin' }, cwd: '/' })
    const fail = (err?: Error): void => {
      if (this.#shell !== shell) return
      this.#broken = true
      this.#shell = undefined
      this.#log.warn({ err }, 'MCP servers would outlive a service that is killed: the watchdog shell has ended')
    }
    shell.on('error', fail)
    shell.on('exit', () => fail())
    shell.stdin?.on('error', fail)
    shell.unref()
    ;(shell.stdin as { unref?: () => void } | null)?.unref?.()
    return shell
  }
}
