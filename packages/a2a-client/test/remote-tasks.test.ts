import { test } from 'tap'
import { processTasks } from '../src/index.js'
import { keyOf } from '../src/interpreter/remote-tasks.js'

test('the memory of a process has a bound', async t => {
  const tasks = processTasks(2)
  for (const key of ['a', 'b', 'a', 'c']) await tasks.set(key, { digest: key })
  t.equal(await tasks.get('b'), undefined)
  t.match(await tasks.get('a'), { digest: 'a' })
  t.match(await tasks.get('c'), { digest: 'c' })
})

test('keys of two owners, agents and kinds differ', t => {
  const keys = [keyOf('run', 'a', 'o', 'x'), keyOf('run', 'a', undefined, 'x'), keyOf('run', 'b', 'o', 'x'), keyOf('conversation', 'a', 'o', 'x')]
  t.equal(new Set(keys).size, 4)
  t.end()
})
