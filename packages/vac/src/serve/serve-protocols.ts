import {
  authenticateCallers, boundMemory, describeRoutes, OpenStreams, parseJson, registerStreams, RouteTable, traceRequests, vacsFor, type ReadOptions
} from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import type { ProtocolPluginOptions, SHARED_OPTIONS } from '../options.js'
import type { ChatProtocol } from '../protocol.js'
import type { ProtocolOptions } from '../protocols.js'
import { Passages } from './passages.js'
import type { Shared } from './served.js'
import { isOpen, serveProtocol } from './serve-protocol.js'

/** Longest pause of a stream without a byte, in seconds, where neither the protocol nor a request sets one. */
const KEEP_ALIVE = 7

/** A protocol with its options. */
export type Chosen = readonly [protocol: ChatProtocol, options: ProtocolOptions]

/** Serves protocols in the scope of a plugin. It adds no hook, parser or error handler to the scope around it. */
export async function serveProtocols (host: FastifyInstance, chosen: readonly Chosen[],
  { vacs, openapi, authenticate, runs, publicUrl, stateKey, timeoutMs, stallMs, bodyLimit, errorHandler }: ReadOptions<ProtocolPluginOptions, typeof SHARED_OPTIONS>): Promise<void> {
  const streams = new OpenStreams()
  await traceRequests(host)
  await registerStreams(host)
  const table = new RouteTable(host)
  boundMemory(host, stallMs)
  describeRoutes(host, openapi)
  // those of the app may return bytes, for signatures
  parseJson(host)
  const principalOf = authenticateCallers(host, authenticate, isOpen)
  const shown = chosen.find(([{ passagePath }]) => passagePath !== undefined)?.[0]
  const passages = shown && new Passages({ protocol: shown, scope: host.prefix, publicUrl, stateKey, isSealed: authenticate !== undefined })
  host.addHook('preClose', () => streams.end())
  const shared: Shared = {
    table, principalOf, vacsOf: request => vacsFor(vacs, principalOf(request), request.log), streams, runs, passages, timeoutMs, stallMs, bodyLimit, errorHandler
  }
  for (const [protocol, { keep_alive: keepAlive = KEEP_ALIVE, ...options }] of chosen) {
    await serveProtocol(host, { ...shared, protocol, keepAliveMs: keepAlive * 1000 }, protocol.routes(options))
  }
}
