import fc from 'fast-check'
import t from 'tap'
import { FrameCursor, readFrameId, type FramePlace } from '../src/chat/frame-cursor.js'

type Item = { readonly text: string } | { readonly frame: string }

const items = fc.array(fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }).map((text): Item => ({ text })),
  fc.constantFrom('start', 'tool', 'end').map((frame): Item => ({ frame }))
), { maxLength: 24 })

/** The same with adjacent texts in one item. */
function joined (items: readonly Item[]): Item[] {
  const all: Item[] = []
  for (const item of items) {
    const last = all.at(-1)
    if ('text' in item && last !== undefined && 'text' in last) all[all.length - 1] = { text: last.text + item.text }
    else all.push(item)
  }
  return all
}

function framesOf (items: readonly Item[], has?: FramePlace, skip?: number): { readonly id: string, readonly item: Item }[] {
  const cursor = new FrameCursor(has, skip)
  const frames: { id: string, item: Item }[] = []
  const take = (item: Item, id: string): string => {
    frames.push({ id, item })
    return 'sent'
  }
  for (const item of items) 'text' in item ? cursor.delta(item.text, (text, id) => take({ text }, id)) : cursor.frame(id => take(item, id))
  return frames
}

t.test('a reader gets the rest after any frame, however the text before and after is cut', async t => {
  fc.assert(fc.property(items, fc.boolean(), fc.boolean(), fc.nat(), (items, before, after, n) => {
    const first = framesOf(before ? joined(items) : items)
    const read = first.slice(0, first.length === 0 ? 0 : n % (first.length + 1))
    const last = read.at(-1)
    const rest = framesOf(after ? joined(items) : items, last && readFrameId(last.id))
    t.strictSame(joined([...read, ...rest].map(({ item }) => item)), joined(items))
  }))
})

t.test('a reader that counts frames gets those after them', async t => {
  fc.assert(fc.property(items, fc.nat(30), (items, n) => {
    t.strictSame(framesOf(items, undefined, n), framesOf(items).slice(n))
  }))
})

t.test('a reader with frames of a text that was taken back gets the whole text', async t => {
  const cursor = new FrameCursor({ begun: 0, frames: 3, chars: 20 })
  t.equal(cursor.begin(12), true)
  t.equal(cursor.frame(id => id), '12-1-0')
  t.equal(cursor.delta('whole', (text, id) => `${text} ${id}`), 'whole 12-1-5')
})

t.test('other texts are not ids', async t => {
  for (const id of ['', '7', '1-2', '-1-2-3', '1-2-x', '1-2-3-4', `${'9'.repeat(40)}-1-1`]) t.equal(readFrameId(id), undefined, id)
})
