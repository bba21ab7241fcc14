import fc from 'fast-check'
import { test } from 'tap'
import { deltaWriter, foldTask, type TaskEvent, type TaskUpdate } from '../src/index.js'
import { patience } from '../src/execution/delta-writer.js'

const KI = 1024

/** The deltas of a fast stream: its pieces come without a turn of the event loop between them, so no timer can fire. */
async function deltasOf (pieces: Iterable<string>): Promise<string[]> {
  const deltas: string[] = []
  const emit = async (update: TaskUpdate | readonly TaskUpdate[]): Promise<number> => deltas.push((update as TaskUpdate).delta ?? '')
  const writer = deltaWriter({ emit })
  for (const piece of pieces) await writer.write(piece)
  await writer.flush()
  return deltas
}

test('the more text was written, the more text waits and the longer, within bounds', t => {
  const waits = (written: number): number[] => { const { chars, ms } = patience(written); return [chars, ms] }
  t.strictSame([0, 4 * KI, 32 * KI, 64 * KI, 80 * KI, 128 * KI, 256 * KI, 64 * KI * KI].map(waits), [
    [4 * KI, 20], [4 * KI, 20], [8 * KI, 20], [16 * KI, 20], [20 * KI, 20], [32 * KI, 32], [64 * KI, 64], [120 * KI, 64]
  ])
  t.strictSame(patience(64 * KI, { everyMs: 1, maxChars: 1 }), { chars: 16 * KI, ms: 16 })
  t.strictSame(patience(64 * KI * KI, { everyMs: 100, maxChars: 200_000 }), { chars: 200_000, ms: 100 })
  t.end()
})

test('all text is written for any pieces, and readers of whole records read at most ten times the text', async t => {
  let most = 0
  await fc.assert(fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 6_000 }), { minLength: 1, maxLength: 20 }), async sizes => {
    const pieces: string[] = []
    for (let total = 0, i = 0; total < 1_000_000; i++) {
      const piece = String.fromCharCode(97 + i % 26).repeat(sizes[i % sizes.length] ?? 1)
      pieces.push(piece)
      total += piece.length
    }
    const text = pieces.join('')
    const deltas = await deltasOf(pieces)
    if (deltas.join('') !== text) throw new Error('the text changed')
    let [shown, soFar] = [0, 0]
    for (const { length } of deltas) shown += Math.min(soFar += length, 256 * KI)
    if (shown > 10 * text.length) throw new Error(`${shown} characters shown for ${text.length}`)
    most = Math.max(most, shown / text.length)
  }), { numRuns: 20, examples: [[[1]], [[4_095]], [[4_096]], [[4_097]]] })
  t.pass(`at most ${most.toFixed(1)} times the text`)
})

test('the message of a record keeps the beginning of its text without splitting a character; the log keeps all', t => {
  const origin = { id: 'i', owner: 'o', skill: 's', input: null, metadata: {} }
  const textOf = (deltas: string[], end: Partial<TaskEvent> = {}): string | undefined => {
    const events = [...deltas.map((delta): Partial<TaskEvent> => ({ delta })), end].map((event, i) => ({ seq: i + 1, at: 0, ...event }))
    return foldTask(origin, events).messages[0]?.parts[0]?.text
  }
  const most = 'x'.repeat(256 * KI)
  for (const end of [{}, { state: 'completed' as const }]) {
    t.ok(textOf([most], end) === most, 'as much as there may be')
    t.ok(textOf([most, 'y', 'z'], end) === most, 'one more')
    t.ok(textOf([most.slice(2), 'y', 'z', 'a'.repeat(300_000)], end) === `${most.slice(2)}yz`, 'many more')
    for (const pair of [['\u{1f600}'], ['\ud83d', '\ude00']]) {
      t.ok(textOf([most.slice(1), ...pair, 'z'], end) === most.slice(1), 'no half of a pair, and nothing after it')
      t.ok(textOf([most.slice(2), ...pair, 'z'], end) === `${most.slice(2)}\u{1f600}`, 'a pair that fits')
    }
    t.ok(textOf([most.slice(1), '\ud83d'], end) === `${most.slice(1)}\ud83d`, 'a half that came alone')
  }
  t.end()
})
