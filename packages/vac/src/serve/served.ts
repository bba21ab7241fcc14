import type { Runs } from '@polyvac/core'
import type { OpenStreams, PrincipalOf, RouteTable } from '@polyvac/core/plugin'
import type { ExposedVacs } from '@polyvac/core/protocol'
import type { FastifyRequest } from 'fastify'
import type { ChatProtocol } from '../protocol.js'
import type { Passages } from './passages.js'

/** What the protocols of one plugin share. */
export interface Shared {
  /** The routes of the plugin, for answers to requests without one. */
  readonly table: RouteTable
  readonly principalOf: PrincipalOf
  /** The VACs that the caller may use. */
  readonly vacsOf: (request: FastifyRequest) => ExposedVacs
  readonly streams: OpenStreams
  /** Durable answers; undefined where the application has none. */
  readonly runs: Runs | undefined
  /** The addresses of passages; undefined where no protocol of the plugin shows them. */
  readonly passages: Passages | undefined
  readonly timeoutMs: number
  readonly stallMs: number
  readonly bodyLimit: number
  readonly errorHandler: 'plugin' | 'app'
}

/** A protocol, and what its routes need. */
export interface Served extends Shared {
  readonly protocol: ChatProtocol
  /** Longest silence of an event stream in ms, where the question sets none; 0 for none. */
  readonly keepAliveMs: number
}
