import { median, quantile } from './statistics.mjs'

/**
 * Measures bare Fastify and Polyvac in turn, A B A B, and compares each round with its neighbour: on a machine that
 * others use too, both halves of a pair suffer alike. The first pair only warms up.
 * @param measure one short run against one server; resolves to `{ perSecond, times }`
 */
export async function inPairs (bare, polyvac, rounds, measure) {
  const ratios = []
  const rates = { bare: [], polyvac: [] }
  const times = { bare: [], polyvac: [] }
  let rss = 0
  for (let round = 0; round <= rounds; round++) {
    const pair = {}
    for (const server of [bare, polyvac]) {
      const { perSecond, times: taken } = await measure(server)
      pair[server.kind] = perSecond
      if (round === 0) continue
      rates[server.kind].push(perSecond)
      times[server.kind].push(...taken)
      if (server === polyvac) rss = Math.max(rss, await server.ask('rss'))
    }
    if (round > 0) ratios.push(pair.polyvac / pair.bare)
  }
  return {
    ratio: median(ratios),
    ratios,
    bare: { perSecond: median(rates.bare), p50: median(times.bare), p99: quantile(times.bare, 0.99) },
    polyvac: { perSecond: median(rates.polyvac), p50: median(times.polyvac), p99: quantile(times.polyvac, 0.99) },
    rss
  }
}
