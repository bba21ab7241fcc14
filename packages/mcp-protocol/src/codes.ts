/** The error codes of JSON-RPC 2.0 and of MCP. */
export const CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** A header differs from the body (2026-07-28). */
  headerMismatch: -32020,
  /** The client did not declare a capability that the request needs (2026-07-28). */
  missingCapability: -32021,
  /** The server does not serve the revision of the request (2026-07-28). */
  unsupportedVersion: -32022,
  /** The server does not have the resource (up to 2025-11-25; later -32602). */
  legacyResourceNotFound: -32002,
  /** The request needs a visit to an address first (2025-11-25). */
  urlElicitationRequired: -32042,
  /** A user rejected a request of the server (specification, sampling). */
  userRejected: -1
} as const

export type CodeName = keyof typeof CODES
