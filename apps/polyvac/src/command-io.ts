import type { Readable, Writable } from 'node:stream'

/** What a command uses of the process that it runs in: `process` is one. */
export interface CommandIo extends Pick<NodeJS.Process, 'env' | 'cwd' | 'exitCode'> {
  readonly stdin: Readable & Terminal
  readonly stdout: Writable & Terminal
  readonly stderr: Writable & Terminal
  on (signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  once (signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off (signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit (): void
}

interface Terminal { readonly isTTY?: boolean | undefined }
