import type * as Grpc from '@grpc/grpc-js'
import type Protobuf from 'protobufjs'
import { GrpcMissingError } from '../errors.js'

/** The packages that only gRPC needs. */
export interface Peers { readonly grpc: typeof Grpc, readonly protobuf: typeof Protobuf }

/** @throws A2A_GRPC_MISSING */
export async function loadPeers (load: (name: string) => Promise<unknown> = async name => await import(name)):
Promise<Peers> {
  return { grpc: await peer('@grpc/grpc-js'), protobuf: await peer('protobufjs') }

  async function peer<T> (name: string): Promise<T> {
    try {
      const { default: module } = await load(name) as { default: T }
      return module
    } catch (err) {
      throw Object.assign(new GrpcMissingError(name), { cause: err })
    }
  }
}
