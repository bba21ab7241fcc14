import { withServers } from './server-process.mjs'
import { max, median, quantile } from './statistics.mjs'

/**
 * Measures several servers in turn, A B C A B C, so that other load on the machine affects all servers of a round
 * alike.
 * @param measure one short run against one server; resolves to `{ perSecond, times, count }`
 * @param warmUps rounds before the others, which are not counted
 * @returns by kind: the rate of each round, all times, the CPU time of the server per request in µs, the largest memory
 */
export async function inRounds (servers, rounds, measure, warmUps = 1) {
  const taken = Object.fromEntries(servers.map(({ kind }) => [kind, { rates: [], times: [], cpus: [], rss: 0 }]))
  for (let round = 0; round < warmUps + rounds; round++) {
    for (const server of servers) {
      // unlike a rate, CPU time hardly depends on other load of the machine
      const before = await server.ask('cpuMs')
      const { perSecond, times, count } = await measure(server)
      const cpuUs = (await server.ask('cpuMs') - before) * 1000 / count
      if (round < warmUps) continue
      const { [server.kind]: into } = taken
      into.rates.push(perSecond)
      into.times.push(...times)
      into.cpus.push(cpuUs)
      into.rss = max([into.rss, await server.ask('rss')])
    }
  }
  return taken
}

/** The rates of one server, each round compared with its neighbour. */
export function ratiosOf (taken, beside) {
  return taken.rates.map((rate, i) => rate / beside.rates[i])
}

/** The share that the CPU time of another server is of that of one, of each round. */
export function cpuSharesOf (taken, beside) {
  return taken.cpus.map((cpu, i) => beside.cpus[i] / cpu)
}

export function summary ({ rates, times, cpus }) {
  return { perSecond: median(rates), p50: median(times), p99: quantile(times, 0.99), cpuUs: median(cpus) }
}

/**
 * Measures servers in turn, in several processes of each: processes of one server differ by up to 20 %, since they
 * compile the same code differently.
 * @param kinds the first is the one that the others are compared with
 * @param longestMs no further processes begin after this time: a slow machine has fewer of them
 * @returns by kind: the ratio of the CPU time of the first to its, of each round, and a summary
 */
export async function inGenerations (kinds, measure, { rounds = 4, warmUps = 3, generations = 4, longestMs = 50_000 } = {}) {
  const all = []
  const last = performance.now() + longestMs
  while (all.length === 0 || (all.length < generations && performance.now() < last)) {
    all.push(await withServers(kinds, (...servers) => inRounds(servers, rounds, measure, warmUps)))
  }
  return Object.fromEntries(kinds.map(kind => {
    const merged = of => all.flatMap(taken => taken[kind][of])
    const ratios = all.flatMap(taken => cpuSharesOf(taken[kind], taken[kinds[0]]))
    return [kind, { ratios, ...summary({ rates: merged('rates'), times: merged('times'), cpus: merged('cpus') }), rss: max(merged('rss')) }]
  }))
}
