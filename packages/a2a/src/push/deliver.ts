import { deadlineSignal, LogGate, record, startSpan, telemetryNames as names, traceParent } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import { pushBackoff, type Delivery, type DeliveryHandler, type DeliveryOutcome, type TaskLogger } from '@polyvac/tasks'
import type { Dispatcher } from 'undici'
import type { AddressGuard } from './address-guard.js'
import { deliveryOutcome } from './delivery-outcome.js'
import { PushClosedError, PushTimeoutError } from './errors.js'
import { checkSecrets, type PushSecrets } from './push-secrets.js'
import type { RecentDeliveries, RecentDelivery } from './recent-deliveries.js'
import type { PushKeys } from './signing-keys.js'

/** Default of the longest time of one delivery. */
export const PUSH_TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 65_536

/** What is sent. */
export interface PushPayload {
  /** Media type. */
  readonly type: string
  readonly body: string
  /** Links of the task to its trace. */
  readonly trace?: unknown
}

export interface PushDelivererOptions {
  /** Its dispatcher ends with this deliverer: give each its own guard. */
  readonly guard: AddressGuard
  readonly keys: PushKeys
  /** Who sends, as receivers know it: the public URL of the service. */
  readonly issuer: string
  /**
   * Longest time of one delivery, lookup and answer included. Below that of the store, which would count it as a crash.
   * Default 10 s.
   */
  readonly timeoutMs?: number | undefined
  /**
   * The body to send; undefined skips the event, `disable` ends the config with the reason. An error that it throws
   * goes to the store, which tries again.
   */
  readonly payload: (delivery: Delivery, signal: AbortSignal) => Promise<PushPayload | { readonly disable: string } | undefined>
  /** Gets the delivery's id, the host and the status; never a token, a body, or what follows the host in the URL. */
  readonly log: TaskLogger
  /** Gets each request with its duration and its outcome. */
  readonly recent?: RecentDeliveries | undefined
}

export interface PushDeliverer {
  /** For `TaskStore.deliver`. */
  readonly handler: DeliveryHandler
  /** Ends what runs, to be tried again by the next process, and all connections. May be called twice. */
  close (): Promise<void>
}

/** Sends the events of a task store to the receivers that its push configs name, signed, once each unless they fail. */
export function pushDeliverer (options: PushDelivererOptions): PushDeliverer {
  const { guard, keys, issuer, timeoutMs = PUSH_TIMEOUT_MS, payload, log, recent } = options
  // @keyed none: what aborts each delivery in progress; MAX_DELIVERIES, a quarter of them of one owner
  const running = new Set<(reason: unknown) => void>()
  let closed: Promise<void> | undefined
  const gate = new LogGate()

  /** One line of a kind and receiver in an interval: callers choose receivers, and can make them fail. */
  function warn (kind: string, receiver: string, fields: object, message: string): void {
    const suppressed = gate.pass(kind, receiver)
    if (suppressed !== undefined) log.warn({ ...fields, suppressed }, message)
  }

  async function handler (delivery: Delivery, signal: AbortSignal): Promise<DeliveryOutcome> {
    signal.throwIfAborted()
    if (closed !== undefined) throw new PushClosedError()
    let url: URL
    let secrets: PushSecrets
    try {
      url = guard.checkUrl(delivery.config.url)
      secrets = checkSecrets(delivery.secrets)
    } catch (error) {
      warn('unusable', delivery.owner, { delivery: delivery.id, code: codeOf(error) }, 'a push config cannot be used and is disabled')
      return { disable: (error as Error).message }
    }
    const stop = deadlineSignal(timeoutMs, signal, { reason: () => new PushTimeoutError(timeoutMs) })
    running.add(stop.abort)
    try {
      const sent = await payload(delivery, stop.signal)
      if (sent === undefined) return 'delivered'
      if ('disable' in sent) return sent
      return await send(delivery, url, secrets, sent, stop.signal)
    } finally {
      stop.end()
      running.delete(stop.abort)
    }
  }

  async function send (
    delivery: Delivery, url: URL, secrets: PushSecrets, { type, body, trace }: PushPayload, signal: AbortSignal
  ): Promise<DeliveryOutcome> {
    const { id, taskId, tries } = delivery
    const at = new Date().toISOString()
    const clock = performance.now()
    const keep = (outcome: RecentDelivery['outcome'], more: Pick<RecentDelivery, 'status' | 'error'>): void => {
      const ms = Math.round((performance.now() - clock) * 10) / 10
      recent?.add(delivery.owner, delivery.config, { at, ms, ...more, outcome, try: tries + 1 })
    }
    const span = startSpan('POST', {
      kind: 'CLIENT',
      root: true,
      linked: Array.isArray(trace) ? trace : [],
      attributes: { [names.HTTP_METHOD]: 'POST', [names.SERVER_ADDRESS]: url.hostname }
    })
    const webhookId = headerId(id)
    try {
      const jwt = await keys.sign({ aud: url.origin, jti: webhookId, taskId, iss: issuer, body })
      signal.throwIfAborted()
      const dispatcher = await guard.dispatcher()
      const { request } = await import('undici')
      const response = await request(url, {
        method: 'POST', headers: Object.assign(deliveryHeaders(webhookId, type, jwt, secrets), span?.run(traceParent)), body, signal, dispatcher
      })
      const { statusCode: status, headers } = response
      await discard(response.body)
      span?.set(names.HTTP_STATUS, status)
      span?.end(status >= 400 ? status : undefined)
      const outcome = deliveryOutcome(status, [headers['retry-after']].flat()[0], tries)
      const fields = { delivery: id, host: url.host, status, tries }
      if (outcome === 'delivered') log.debug(fields, 'a notification was answered')
      else warn('refused', url.host, fields, 'a notification was refused')
      const name = typeof outcome === 'string' ? outcome : 'retryAt' in outcome ? 'retry' : 'disable'
      record('polyvac.push.deliveries', 1, { [names.OUTCOME]: name })
      keep(name === 'disable' ? 'disabled' : name, { status })
      return outcome
    } catch (error) {
      record('polyvac.push.deliveries', 1, { [names.OUTCOME]: 'retry' })
      span?.end(error ?? '_OTHER')
      keep('retry', { error: codeOf(error) })
      warn('failed', url.host, { delivery: id, host: url.host, code: codeOf(error), tries }, 'a notification did not arrive')
      return { retryAt: Date.now() + pushBackoff(tries) }
    }
  }

  return {
    handler,
    close () {
      for (const abort of running) abort(new PushClosedError())
      closed ??= guard.close()
      return closed
    }
  }
}

function deliveryHeaders (id: string, type: string, jwt: string, { token, authentication }: PushSecrets):
Record<string, string> {
  return {
    'content-type': type,
    'user-agent': 'polyvac',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
    'x-a2a-notification-signature': jwt,
    authorization:
      authentication === undefined ? `Bearer ${jwt}` : `${authentication.scheme} ${authentication.credentials}`,
    // one SDK reads the name without `x-`
    ...(token !== undefined && { 'x-a2a-notification-token': token, 'a2a-notification-token': token })
  }
}

/** An id that holds what callers chose may not fit a header; its hash always does, and is the same at every try. */
function headerId (id: string): string {
  return /^[\x21-\x7e]{1,256}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

/**
 * Reads what little there should be, so that the connection can be used again; ends the connection where there is more.
 */
async function discard (body: Dispatcher.ResponseData['body']): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength
      if (bytes > MAX_ANSWER_BYTES) break
    }
  } catch {
    // the status is known, and only it decides whether the notification arrived
  }
}

/** What may be logged and shown of an error: its text might quote headers. */
function codeOf (error: unknown): string {
  const { code, name } = error as { code?: unknown, name?: unknown }
  return String(code ?? name)
}
