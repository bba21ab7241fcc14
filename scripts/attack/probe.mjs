// Loaded with --import into a started host. It answers the attacker over the channel of Node.js between parent and
// child, and it ends the host when that channel closes, however the attacker ends.
import { channel } from 'node:diagnostics_channel'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delays = monitorEventLoopDelay({ resolution: 10 })
delays.enable()

// the clock of a machine that was set back or forward
const shift = Number(process.env.ATTACK_CLOCK_MS ?? 0)
if (shift !== 0) {
  const now = Date.now
  globalThis.Date = class extends Date {
    constructor (...args) { args.length === 0 ? super(now() + shift) : super(...args) }
    static now () { return now() + shift }
  }
}

if (process.channel !== undefined) {
  process.on('message', message => {
    if (message !== 'measure') return
    const blockedMs = Math.round(delays.max / 1e6)
    globalThis.gc?.()
    setImmediate(() => {
      globalThis.gc?.()
      // the collections that this message asks for are not work of the host
      channel('polyvac.test.pause').publish({})
      const { heapUsed, rss, external } = process.memoryUsage()
      process.send?.({ heap: heapUsed + external, rss, blockedMs }, () => {})
      setTimeout(() => delays.reset(), 50).unref()
    })
  })
  process.on('disconnect', () => process.exit(1))
  process.channel.unref()
}
