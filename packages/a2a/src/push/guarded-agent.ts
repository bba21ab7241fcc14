import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector } from 'undici'
import { PushUrlRefusedError } from './errors.js'

const CONNECT_TIMEOUT_MS = 5_000
const IDLE_TIMEOUT_MS = 4_000
const MAX_ADDRESSES = 4

/** Resolves a host to the addresses that a connection may be made to; rejects where one of them is refused. */
export type ResolveChecked = (protocol: string, hostname: string, port: number) => Promise<string[]>

/**
 * An agent that connects only to addresses of `resolve`. The outbox bounds the connections to a host: with a second
 * bound, a delivery would wait behind those that hang, until its own time is over.
 */
export function guardedAgent (resolve: ResolveChecked): Agent {
  return new Agent({
    connect: guardedConnect(resolve),
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS
  })
}

/**
 * Connects for undici, which would look the name up by itself, after any check and with another answer. Here the
 * addresses checked are the ones dialled, in turn; `host` and `servername` stay, so Host, SNI and the certificate are
 * the name's.
 */
function guardedConnect (resolve: ResolveChecked): buildConnector.connector {
  const dial = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false })

  async function connect (options: buildConnector.Options): Promise<Socket> {
    const { protocol, hostname, port } = options
    const addresses = await resolve(protocol, hostname, Number(port) || (protocol === 'https:' ? 443 : 80))
    let failure: unknown = new Error('the lookup gave no address')
    for (const address of addresses.slice(0, MAX_ADDRESSES)) {
      try {
        return await dialOne(options, address)
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  function dialOne (options: buildConnector.Options, address: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      dial({ ...options, hostname: address }, (error, socket) => {
        if (error !== null) return reject(error)
        if (isSame(socket.remoteAddress, address)) return resolve(socket)
        socket.destroy()
        reject(new PushUrlRefusedError('the connection led to another address', 'remove what redirects it'))
      })
    })
  }

  return (options, done) => {
    connect(options).then(socket => { done(null, socket) }, error => { done(error as Error, null) })
  }
}

function isSame (remote: string | undefined, address: string): boolean {
  return remote !== undefined && ipaddr.process(remote).toString() === ipaddr.process(address).toString()
}
