import { CODES, isLegacy, MODERN_META, NEWEST_LEGACY } from '@polyvac/mcp-protocol'
import { cleanText, isRecord } from '@polyvac/core/plugin'
import { RpcError } from '../protocol/json-rpc.js'
import type { ToolResult } from '../protocol/call-options.js'
import { CLIENT_CAPABILITIES, CLIENT_INFO, MODERN_REVISION } from '../protocol/revision.js'

export const DISCOVER = 'server/discover'

/** Revision of servers from before the first release; for a client it equals 2024-11-05. */
const PRERELEASE = '2024-10-07'

/** Longest name or version that a server has, in characters. */
const MAX_INFO_CHARS = 200

type Capabilities = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>

/** What a server reports of itself in the handshake. */
export interface ServerFacts {
  readonly revision: string
  readonly capabilities: Capabilities
  readonly info: { readonly name: string, readonly version: string }
}

type Send = (method: string, params: object) => Promise<ToolResult>

/** The handshake of revisions up to 2025-11-25. @throws if the server chooses an unsupported revision */
export async function initialize (send: Send): Promise<ServerFacts> {
  const { protocolVersion, capabilities, serverInfo } = await send('initialize', {
    protocolVersion: NEWEST_LEGACY, capabilities: CLIENT_CAPABILITIES, clientInfo: CLIENT_INFO
  })
  if (!isLegacy(protocolVersion) && protocolVersion !== PRERELEASE) {
    throw new Error(`it chose protocol version ${JSON.stringify(protocolVersion)}, which the gateway does not support`)
  }
  return { revision: protocolVersion, capabilities: capabilitiesOf(capabilities), info: infoOf(serverInfo) }
}

/**
 * The handshake of revision 2026-07-28. It is sent once more to a server that refuses the revision and names it among
 * those that it supports.
 * @throws RpcError if the server does not list it
 */
export async function discover (send: Send): Promise<ServerFacts> {
  const { supportedVersions, capabilities, _meta: meta } = await send(DISCOVER, {}).catch((err: unknown) => {
    if (!supportsModern(err)) throw err
    return send(DISCOVER, {})
  })
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_REVISION)) {
    const versions = JSON.stringify(supportedVersions)
    throw new RpcError(CODES.unsupportedVersion, `it supports ${versions}, not ${MODERN_REVISION}`)
  }
  const info = isRecord(meta) ? meta[MODERN_META.serverInfo] : undefined
  return { revision: MODERN_REVISION, capabilities: capabilitiesOf(capabilities), info: infoOf(info) }
}

/** Whether the error is -32022 with revision 2026-07-28 among the supported ones. */
function supportsModern (err: unknown): boolean {
  if (!(err instanceof RpcError) || err.code !== CODES.unsupportedVersion || !isRecord(err.data)) return false
  const { supported } = err.data
  return Array.isArray(supported) && supported.includes(MODERN_REVISION)
}

/** The capabilities that are objects. */
function capabilitiesOf (value: unknown): Capabilities {
  const declared = Object.entries(isRecord(value) ? value : {})
  return Object.fromEntries(declared.filter(([, settings]) => isRecord(settings))) as Capabilities
}

function infoOf (value: unknown): ServerFacts['info'] {
  const { name, version } = isRecord(value) ? value : {}
  const text = (value: unknown, missing: string): string => typeof value === 'string' ? cleanText(value, MAX_INFO_CHARS) : missing
  return { name: text(name, 'unnamed'), version: text(version, '0') }
}
