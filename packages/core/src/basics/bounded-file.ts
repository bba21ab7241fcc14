import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'

/** Without O_NONBLOCK, opening a FIFO without a writer blocks a thread of the pool until one opens it. */
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/**
 * Reads a regular file of at most `maxBytes`, also while it grows or is replaced. Devices and pipes are not opened.
 * @throws an error with the code NOT_A_FILE or FILE_TOO_LARGE, or the error of the system
 */
export async function readBoundedFile (path: string, maxBytes: number): Promise<Buffer> {
  // opening some devices has an effect
  refuseOther(await stat(path), maxBytes)
  const handle = await open(path, READ_ONLY)
  try {
    // another file may have replaced it
    const { size } = refuseOther(await handle.stat(), maxBytes)
    // one byte more than the size shows the end; a file of /proc has the size 0
    let buffer = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(size, 4_096)) + 1)
    for (let length = 0; ;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
      length += bytesRead
      if (bytesRead === 0) return buffer.subarray(0, length)
      if (length > maxBytes) throw coded('FILE_TOO_LARGE', `the file is larger than ${maxBytes} bytes`)
      if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(maxBytes + 1, buffer.length * 2))
    }
  } finally {
    await handle.close()
  }
}

function refuseOther<S extends { isFile (): boolean, isDirectory (): boolean, readonly size: number }> (stats: S, maxBytes: number): S {
  if (!stats.isFile()) throw coded('NOT_A_FILE', stats.isDirectory() ? 'it is a folder' : 'it is a device, a pipe or a socket')
  if (stats.size > maxBytes) throw coded('FILE_TOO_LARGE', `the file is larger than ${maxBytes} bytes`)
  return stats
}

function coded (code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
