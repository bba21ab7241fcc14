import { MAX_OBJECT_DEPTH } from '../vac/copy-json.js'
import { JsonScan } from './json-scan.js'

/** JSON has one value at most for so many bytes of its limit: to parse many small ones takes longest. */
const BYTES_PER_VALUE = 40
const MIN_VALUES = 10_000

/**
 * Why JSON that a peer sent is not parsed: parsing it would block the event loop, or its depth would overflow the stack
 * of code that walks or prints it. The default depth is that of an answer here.
 */
export function peerJsonProblem (text: string, maxBytes: number, maxDepth = MAX_OBJECT_DEPTH): string | undefined {
  // as short as that it is within both bounds
  if (text.length < 2 * maxDepth) return undefined
  const maxValues = Math.max(MIN_VALUES, Math.floor(maxBytes / BYTES_PER_VALUE))
  const scan = new JsonScan({ depth: maxDepth, values: maxValues, valuesOfName: 0 })
  scan.read(text)
  if (scan.exceeded === 'depth') return `is nested deeper than ${maxDepth} levels`
  return scan.exceeded === 'values' ? `has more than ${maxValues} values` : undefined
}
