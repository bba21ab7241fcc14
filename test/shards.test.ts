import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { run } from './fixtures/service.js'
import { root } from './fixtures/pages.js'
import { heaviestFirst, inProcesses, shardOf, testFiles } from '../scripts/test-files.mjs'

const weights = JSON.parse(readFileSync(`${root}/test/weights.json`, 'utf8')) as Record<string, number>
const names = [...inProcesses(testFiles()).keys(), 'types', 'lint']

test('each job is in exactly one shard, and the shards weigh about the same', t => {
  for (const count of [1, 2, 3, 4, 7]) {
    const shards = Array.from({ length: count }, (_, i) => shardOf(names, weights, i + 1, count))
    t.strictSame(shards.flat().sort(), [...names].sort(), `${count} shards`)
    const sums = shards.map(shard => shard.reduce((sum, name) => sum + (weights[name] ?? 0), 0))
    const heaviest = Math.max(...names.map(name => weights[name] ?? 0))
    t.ok(Math.max(...sums) - Math.min(...sums) <= heaviest * 1.5, `${sums.map(Math.round).join(', ')} s`)
  }
  t.end()
})

test('the heaviest job begins first, one without a weight is in the middle, and the order of names means nothing', t => {
  const known = { a: 1, b: 9, c: 5 }
  t.strictSame(heaviestFirst(['a', 'new', 'b', 'c'], known), ['b', 'c', 'new', 'a'])
  t.strictSame(shardOf(['c', 'b', 'a'], known, 1, 2), shardOf(['a', 'b', 'c'], known, 1, 2))
  t.strictSame([shardOf(['a'], known, 2, 2), shardOf([], {}, 1, 1)], [[], []])
  t.end()
})

test('a shard that is none of its shards is refused before anything runs', async t => {
  for (const shard of ['0/2', '3/2', '1', '2/', 'a/b', '-1/2', '1/0']) {
    const { code, stderr } = await run(root, process.execPath, ['scripts/test.mjs', `--shard=${shard}`])
    t.equal(code, 2, shard)
    t.match(stderr, /--shard takes i\/n with i from 1 to n, such as 2\/4; it is/)
  }
})
