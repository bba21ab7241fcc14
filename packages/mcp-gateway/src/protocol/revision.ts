import { VERSION } from '@polyvac/core/plugin'
import { MODERN_META, MODERN_REVISIONS, UI_EXTENSION } from '@polyvac/mcp-protocol'
import type { CallOptions } from './call-options.js'

/** The revision without sessions that the gateway supports. */
export const MODERN_REVISION = MODERN_REVISIONS[0]

/**
 * A session serves callers with MCP Apps and callers without, who ignore `_meta.ui`: so the extension is declared
 * always. The request of a single caller of revision 2026-07-28 declares what that caller declares.
 */
export const CLIENT_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { [UI_EXTENSION]: { mimeTypes: ['text/html;profile=mcp-app'] } }
} as const
export const CLIENT_INFO = { name: 'polyvac-mcp-gateway', version: VERSION } as const

/** `_meta` of every request of this revision. */
export const ENVELOPE = {
  [MODERN_META.protocolVersion]: MODERN_REVISION,
  [MODERN_META.clientCapabilities]: CLIENT_CAPABILITIES,
  [MODERN_META.clientInfo]: CLIENT_INFO
}

/** `_meta` that one request adds to the envelope. */
export function metaOf ({ capabilities, logLevel }: CallOptions): object | undefined {
  if (capabilities === undefined && logLevel === undefined) return undefined
  return {
    ...capabilities !== undefined && { [MODERN_META.clientCapabilities]: capabilities },
    ...logLevel !== undefined && { [MODERN_META.logLevel]: logLevel }
  }
}
