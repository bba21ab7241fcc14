import { version } from '../version.js'
import type { CallOptions } from './call-options.js'

/** The revision without sessions: every request carries its version and the client's capabilities. */
export const MODERN_VERSION = '2026-07-28'

/** Revisions with a handshake, the newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']

export const CLIENT_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {} } as const
export const CLIENT_INFO = { name: 'polyvac-mcp-gateway', version } as const

export const META_PREFIX = 'io.modelcontextprotocol/'
/** The extension for tasks. */
export const TASKS_EXTENSION = `${META_PREFIX}tasks`

/** Capabilities of a client that knows tasks. */
export const KNOWS_TASKS = { extensions: { [TASKS_EXTENSION]: {} } }

/** `_meta` of every request of this revision. */
export const ENVELOPE = {
  [`${META_PREFIX}protocolVersion`]: MODERN_VERSION,
  [`${META_PREFIX}clientCapabilities`]: CLIENT_CAPABILITIES,
  [`${META_PREFIX}clientInfo`]: CLIENT_INFO
}

/** JSON-RPC codes of this revision: the caller lacks a capability that the call needs; the server serves other revisions. */
export const MISSING_CAPABILITY = -32021
export const UNSUPPORTED_VERSION = -32022

/** `_meta` that one request adds to the envelope. */
export function metaOf ({ capabilities, logLevel }: CallOptions): object | undefined {
  if (capabilities === undefined && logLevel === undefined) return undefined
  return {
    ...capabilities !== undefined && { [`${META_PREFIX}clientCapabilities`]: capabilities },
    ...logLevel !== undefined && { [`${META_PREFIX}logLevel`]: logLevel }
  }
}
