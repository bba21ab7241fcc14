import { fileURLToPath } from 'node:url'
import type { Message, Root, Type } from 'protobufjs'
import { encodeMessage, encodeWhole } from './large-message.js'
import type { Peers } from './peers.js'
import { toJson } from './proto-json.js'

/** The messages of one method, as ProtoJSON on this side and bytes on the other. */
export interface RpcMethod {
  readonly name: string
  readonly path: string
  readonly streams: boolean
  /** @throws where the bytes are not such a message */
  readonly read: (bytes: Uint8Array) => unknown
  /** Makes a large message in turns of the event loop. */
  readonly write: (json: unknown) => Promise<Buffer>
}

/** What `grpc-status-details-bin` takes besides code and message (google.aip.dev/193). */
export type StatusDetail = Readonly<Record<string, unknown>> & { readonly '@type': string }

/** The service of A2A 1.0 over protobuf, read from the definitions that come with the package. */
export class ProtobufCodec {
  readonly methods: readonly RpcMethod[]
  readonly #root: Root

  constructor ({ protobuf }: Pick<Peers, 'protobuf'>) {
    const root = this.#root = new protobuf.Root()
    const pathOf = (name: string): string => fileURLToPath(new URL(`../../proto/${name}.proto`, import.meta.url))
    root.loadSync(['a2a', 'rpc-status'].map(pathOf))
    root.resolveAll()
    const service = root.lookupService('lf.a2a.v1.A2AService')
    this.methods = service.methodsArray.map(method => {
      const { resolvedRequestType: request, resolvedResponseType: response } = method
      return {
        name: method.name,
        path: `/lf.a2a.v1.A2AService/${method.name}`,
        streams: method.responseStream === true,
        read: bytes => toJson(request as Type, (request as Type).decode(bytes) as Message & Record<string, unknown>),
        write: json => encodeMessage(response as Type, json)
      }
    })
  }

  /** A google.rpc.Status as bytes. */
  status (code: number, message: string, details: readonly StatusDetail[]): Buffer {
    return encodeWhole(this.#root.lookupType('google.rpc.Status'), {
      code,
      message,
      details: details.map(({ '@type': url, ...detail }) => {
        const type = this.#root.lookupType(url.slice(url.lastIndexOf('/') + 1))
        return { type_url: url, value: encodeWhole(type, detail).toString('base64') }
      })
    })
  }
}
