import { listWebhooks, readDeliveries, type Delivery, type Webhook } from '../protocols/a2a-tasks.js'
import type { TimelineEvent } from './timeline-events.js'

/** Pauses in ms before two reads of the deliveries; they double, so that a long task does not fill the session. */
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 30_000
/** Deliveries that the page keeps of a task; the one that it read first leaves. */
const MAX_DELIVERIES = 500
/** Reads after the end of a task: its last delivery begins after the end, and may be sent again. */
export const READS_AFTER_END = 5

/** The deliveries of a task by webhook, begin and try. Reads add to it: with several replicas, each lists its own. */
export type Deliveries = Map<string, TimelineEvent>

/**
 * Reads the webhooks of a task, and their deliveries up to `reads` times; a page in the background waits. `show` gets
 * the webhooks whenever `seen` was read. Rejects where the webhooks cannot be read.
 */
export async function watchDeliveries (taskId: string, reads: number, seen: Deliveries, signal: AbortSignal, show: (webhooks: readonly Webhook[]) => void): Promise<void> {
  let webhooks: readonly Webhook[] | undefined
  for (let pauseMs = MIN_PAUSE_MS; reads > 0; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
    await new Promise(resolve => setTimeout(resolve, pauseMs))
    if (signal.aborted) return
    if (document.hidden) continue
    webhooks ??= await listWebhooks(taskId, signal)
    for (const webhook of webhooks) {
      // the next read may reach another process, or one that is there again
      for (const delivery of await readDeliveries(taskId, webhook, signal).catch(() => [])) {
        seen.set(`${webhook.id} ${delivery.at} ${delivery.try}`, eventOf(webhook, delivery))
      }
    }
    for (const oldest of seen.keys()) {
      if (seen.size <= MAX_DELIVERIES) break
      seen.delete(oldest)
    }
    if (signal.aborted) return
    show(webhooks)
    if (webhooks.length === 0) return
    reads--
  }
}

function eventOf ({ url }: Webhook, { at, ms, status, error, outcome, try: count }: Delivery): TimelineEvent {
  const start = Date.parse(at)
  const host = url.split('/')[2] ?? url
  return { lane: 'webhooks', start, end: start + ms, label: `deliver to ${host} ${status ?? error}, ${outcome}${count > 1 ? `, try ${count}` : ''}`, isFrame: false }
}
