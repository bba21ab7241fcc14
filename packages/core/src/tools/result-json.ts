import { InvalidToolResultError } from '../basics/errors.js'

/** @throws MCP_INVALID_RESULT for a value that is nested too deep, is circular or has a bigint */
export function resultJson (tool: string, value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (err) {
    throw invalidResult(tool, err)
  }
}

export function invalidResult (tool: string, err: unknown): Error {
  const reason = err instanceof RangeError ? 'it is nested too deep' : String((err as Error).message).split('\n', 1)[0] ?? ''
  return new InvalidToolResultError(JSON.stringify(tool), reason)
}
