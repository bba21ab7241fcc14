import { within } from '@polyvac/core/plugin'
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { OrphanWatchdog } from './orphan-watchdog.js'
import { StderrRing } from './stderr-ring.js'

/** How a child ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it could not be started. */
  readonly error?: string | undefined
  readonly errno?: string | undefined
}

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Record<string, string>
  readonly cwd: string
  readonly stderrLines: number
}

/** Time in ms from the end of its input to SIGTERM. */
const LEAVE_MS = 150
/** Time in ms from SIGTERM to SIGKILL. The sum of all stays below a second. */
const TERM_MS = 450
/** Wait in ms for the last output of a child that has ended. */
const DRAIN_MS = 100
/** Wait in ms for the exit after SIGKILL. */
const KILL_MS = 200

const windows = process.platform === 'win32'

/**
 * A server as a child process that leads a process group, so that the processes that it starts, such as the server
 * behind `npx` or `sh -c`, end with it. Arguments are passed without a shell.
 */
export class ServerProcess {
  readonly stderr: StderrRing
  /** Resolves when the child has ended, even if a grandchild still holds its output. Never rejects. */
  readonly ended: Promise<Exit>
  readonly #child: ChildProcess
  readonly #watch: OrphanWatchdog
  #exit: Exit | undefined
  #closing: Promise<void> | undefined

  constructor ({ command, args, env, cwd, stderrLines }: Command, watch: OrphanWatchdog) {
    this.#watch = watch
    this.stderr = new StderrRing(stderrLines)
    const child = this.#child = spawn(command, args, {
      env,
      cwd,
      detached: !windows,
      shell: false,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true
    })
    const { pid } = child
    if (pid !== undefined) watch.add(pid)
    child.stderr?.on('data', (chunk: Buffer) => this.stderr.push(chunk))
    child.stderr?.on('error', () => { /* it ends with the child, and `exit` reports that */ })
    child.stdin?.on('error', () => { /* `exit` reports the end of the child, timeouts a child that does not read */ })
    this.ended = new Promise(resolve => {
      const end = (exit: Exit): void => {
        if (this.#exit !== undefined) return
        this.#exit = exit
        this.#drained().then(() => this.close()).finally(() => resolve(exit)).catch(() => {})
      }
      child.once('exit', (code, signal) => end({ code, signal }))
      child.once('error', (err: NodeJS.ErrnoException) => {
        if (pid === undefined) end({ code: null, signal: null, error: spawnProblem(err, command, cwd), errno: err.code ?? 'FAILED' })
      })
    })
  }

  get pid (): number | undefined { return this.#child.pid }
  get exit (): Exit | undefined { return this.#exit }
  get stdin (): NodeJS.WritableStream | null { return this.#child.stdin }
  get stdout (): NodeJS.ReadableStream | null { return this.#child.stdout }

  /** Ends the child and its group, in under a second: end of input, SIGTERM, SIGKILL. May be called twice. */
  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Ends a child that does not respond, at once. */
  kill (): void {
    this.#signal('SIGKILL')
  }

  async #close (): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      this.#child.stdin?.end()
      if (await this.#goneWithin(this.#exit === undefined ? LEAVE_MS : 0)) return
      this.#signal('SIGTERM')
      if (await this.#goneWithin(TERM_MS)) return
      this.#signal('SIGKILL')
      await this.#goneWithin(KILL_MS)
    } finally {
      this.#child.stdout?.destroy()
      this.#child.stderr?.destroy()
      this.#watch.remove(pid)
    }
  }

  /** Waits for the last output of the child, but not for a grandchild that holds the pipe. */
  async #drained (): Promise<void> {
    const { stdout } = this.#child
    if (this.#closing !== undefined || stdout == null || stdout.closed || stdout.destroyed) return
    await within(new Promise(resolve => { stdout.once('close', resolve) }), DRAIN_MS)
  }

  async #goneWithin (ms: number): Promise<boolean> {
    const until = performance.now() + ms
    while (this.#exit === undefined || this.#groupLives()) {
      if (performance.now() >= until) return false
      await delay(10)
    }
    return true
  }

  #groupLives (): boolean {
    return !windows && this.#signal(0)
  }

  #signal (signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined) return false
    try {
      if (!windows) return process.kill(-pid, signal)
      spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true }).on('error', () => { this.#child.kill() })
      return true
    } catch {
      // ESRCH: the group has no processes left
      return false
    }
  }
}

function spawnProblem ({ code, message }: NodeJS.ErrnoException, command: string, cwd: string): string {
  if (code === 'ENOENT') return `the command ${JSON.stringify(command)} is not on the search path, or the folder ${JSON.stringify(cwd)} does not exist`
  if (code === 'EACCES') return `the command ${JSON.stringify(command)} may not be executed`
  return message
}

/** How a child ended, for messages. */
export function describeExit ({ code, signal, error }: Exit): string {
  return error ?? (signal !== null ? `it was ended by ${signal}` : `it exited with code ${code ?? 'unknown'}`)
}
