// The capacity of replicas on one database, computed from the figures of bench/results.json.
import { readFileSync } from 'node:fs'

const { results } = JSON.parse(readFileSync(new URL('../bench/results.json', import.meta.url), 'utf8'))

/** The load of one replica that the table of replicas assumes: tasks in a second, each with four events. */
const TASKS = 10
const EVENTS = 4
/** Create, claim, four events and the end notify once each, where no two of them share a commit. */
const NOTIFICATIONS = 7
/** Connections of a replica: the default of the pool, and the one that listens. */
const CONNECTIONS = 10 + 1
/** Days that ended tasks are kept, and bytes of an event with its index. */
const DAYS = 7
const EVENT_BYTES = 250
const REPLICAS = [10, 100, 1_000]
/** Replicas of one shard, where owners are divided among databases. */
const SHARD = 20

function figureOf (scenario, isWanted) {
  const found = results.find(({ name }) => name === scenario)?.figures.find(isWanted)
  if (found === undefined) throw new Error(`bench/results.json has no such figure of ${scenario}; run npm run bench -- postgres --keep`)
  return found
}

const task = figureOf('postgres', ({ capacity }) => capacity !== undefined)
const { replicaMs, databaseMs, notificationUs } = task.capacity
const { databaseUs: appends } = figureOf('postgres', ({ databaseUs }) => databaseUs !== undefined)
const { readUs } = figureOf('postgres', figure => figure.readUs !== undefined)
const { value: streamKb } = figureOf('idle', ({ unit }) => unit === 'kB')
const appendUs = [...appends].sort((a, b) => a - b)[appends.length >> 1]

const number = value => Math.round(value).toLocaleString('en')
const exact = value => value >= 100 ? number(value) : value.toPrecision(2)

/** What one core does. */
export const measured = () => [
  ['A task with four events, in a replica', `${exact(replicaMs)} ms`, `${number(1_000 / replicaMs)} tasks/s`],
  ['The same, in the database', `${exact(databaseMs)} ms`, `${number(1_000 / databaseMs)} tasks/s`],
  ['An event of a batch, in the database', `${exact(appendUs)} µs`, `${number(1e6 / appendUs)} events/s`],
  ['An event to a reader, in a replica', `${exact(readUs)} µs`, `${number(1e6 / readUs)} events/s`],
  ['A notification, in the database, for each replica', `${exact(notificationUs)} µs`, `${number(1e6 / notificationUs)} notifications/s to one replica`],
  ['An open stream, in a replica', `${exact(streamKb)} kB of memory`, `${number(1e6 / streamKb)} streams in a gigabyte`]
]

const demand = count => {
  const perSecond = count * TASKS
  const workCores = perSecond * databaseMs / 1_000
  const notifyCores = perSecond * NOTIFICATIONS * count * notificationUs / 1e6
  const gigabytes = perSecond * EVENTS * 86_400 * DAYS * EVENT_BYTES / 1e9
  return [number(count), number(perSecond), number(perSecond * EVENTS), number(count * CONNECTIONS), exact(workCores), exact(notifyCores), `${number(gigabytes)} GB`]
}

/** What so many replicas ask of one database, and what one of as many shards as needed is asked for. */
export const replicas = () => REPLICAS.map(demand)
export const shard = () => [demand(SHARD)]
