import fc from 'fast-check'
import t from 'tap'
import { LinkedSet } from '../src/plugin.js'
import type { LinkedNode } from '../src/plugin.js'

t.test('a linked set has the added and not removed members in order, as a Set has', async () => {
  fc.assert(fc.property(fc.array(fc.record({ what: fc.constantFrom('add', 'remove', 'toEnd'), at: fc.nat(20) })), steps => {
    const live = new LinkedSet<number>()
    const model = new Set<number>()
    const entries: Array<LinkedNode<number>> = []
    for (const [i, { what, at }] of steps.entries()) {
      const entry = entries[at]
      if (what === 'add' || entry === undefined) {
        entries.push(live.add(i))
        model.add(i)
      } else if (what === 'toEnd') {
        entry.toEnd()
        if (model.delete(entry.value)) model.add(entry.value)
      } else if (entry.remove() !== model.delete(entry.value)) return false
    }
    if (live.find(value => value % 2 === 1) !== [...model].find(value => value % 2 === 1)) return false
    return live.size === model.size && JSON.stringify(live.values()) === JSON.stringify([...model])
  }))
})

t.test('members may be removed during iteration, and a removed node has no neighbours', async t => {
  const live = new LinkedSet<string>()
  const entries = ['a', 'b', 'c'].map(value => live.add(value))
  for (const value of live.values()) entries.find(entry => entry.value === value)?.remove()
  t.same([live.size, live.values()], [0, []])
  for (const entry of entries) t.same([entry.next, entry.previous], [entry, entry])
})
