// The test files of the repository, and how they are shared out among jobs and shards.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** CPU seconds of each job, the processes that it starts included. `scripts/test.mjs --weigh` writes them. */
export const WEIGHTS = 'test/weights.json'
/** Files of these folders run in one process: they load the same modules, and share a browser. */
const TOGETHER = ['packages/playground/test/']

export function testFiles () {
  const folders = ['test', 'test/access', ...['apps', 'packages'].flatMap(group => readdirSync(group).map(name => `${group}/${name}/test`))]
  return folders.filter(folder => existsSync(folder)).flatMap(folder => readdirSync(folder).map(name => `${folder}/${name}`))
    .filter(file => file.endsWith('.test.ts'))
}

/** The files that run in one process, by the name of the job. */
export function inProcesses (files) {
  const processes = new Map()
  for (const file of files) {
    const name = TOGETHER.find(folder => file.startsWith(folder)) ?? file
    processes.set(name, [...processes.get(name) ?? [], file])
  }
  return processes
}

export const readWeights = () => existsSync(WEIGHTS) ? JSON.parse(readFileSync(WEIGHTS, 'utf8')) : {}

/** The names of jobs, the heaviest first, so that none ends last. A job without a weight has the median. */
export function heaviestFirst (names, weights) {
  const weightOf = weighing(weights)
  return [...names].sort((a, b) => weightOf(b) - weightOf(a) || (a < b ? -1 : 1))
}

/** The jobs of shard `number` (from 1) of `count`: each job goes to the shard that is lightest so far. */
export function shardOf (names, weights, number, count) {
  const weightOf = weighing(weights)
  const shards = Array.from({ length: count }, () => ({ weight: 0, names: [] }))
  for (const name of heaviestFirst(names, weights)) {
    const lightest = shards.reduce((least, shard) => shard.weight < least.weight ? shard : least)
    lightest.weight += weightOf(name)
    lightest.names.push(name)
  }
  return shards[number - 1].names
}

function weighing (weights) {
  const sorted = Object.values(weights).sort((a, b) => a - b)
  const median = sorted[sorted.length >> 1] ?? 1
  return name => weights[name] ?? median
}
