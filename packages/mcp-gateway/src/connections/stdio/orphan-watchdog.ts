import { spawn, type ChildProcess } from 'node:child_process'
import type { Log } from '@polyvac/core'

/** Between asking the groups to end and killing them, in seconds. */
const GRACE_S = 1

/**
 * Reads lists of process groups, the last one counts. When its input ends, because the host closed it or because the host
 * was killed, it ends the groups of that list.
 */
const SCRIPT = `groups=
while read -r line; do groups=$line; done
[ -z "$groups" ] && exit 0
for group in $groups; do kill -TERM "-$group"; done
sleep ${GRACE_S}
for group in $groups; do kill -KILL "-$group"; done`

/**
 * Ends the children where the host cannot: a process that gets SIGKILL runs no more code, and its children live on. A
 * shell of a megabyte holds the other end of a pipe. It begins with the first group and ends with the gateway.
 */
export class OrphanWatchdog {
  readonly #groups = new Set<number>()
  readonly #log: Log
  #shell: ChildProcess | undefined
  #broken = process.platform === 'win32'

  constructor (log: Log) {
    this.#log = log
  }

  add (group: number): void {
    this.#groups.add(group)
    this.#tell()
  }

  remove (group: number): void {
    if (this.#groups.delete(group)) this.#tell()
  }

  close (): void {
    this.#groups.clear()
    this.#shell?.stdin?.end('\n')
    this.#shell = undefined
    this.#broken = true
  }

  #tell (): void {
    if (this.#broken) return
    this.#shell ??= this.#start()
    this.#shell.stdin?.write(`${[...this.#groups].join(' ')}\n`)
  }

  #start (): ChildProcess {
    // a group of its own: what kills the host's group must not kill the watch
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: '/usr/bin:/bin' }, cwd: '/' })
    const fail = (err?: Error): void => {
      if (this.#shell !== shell) return
      this.#broken = true
      this.#shell = undefined
      this.#log.warn({ err }, 'MCP servers would outlive a service that is killed: the shell that watches over them has ended')
    }
    shell.on('error', fail)
    shell.on('exit', () => fail())
    shell.stdin?.on('error', fail)
    shell.unref()
    ;(shell.stdin as { unref?: () => void } | null)?.unref?.()
    return shell
  }
}
