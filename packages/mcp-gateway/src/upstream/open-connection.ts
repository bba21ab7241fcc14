import type { NamedServer } from '../config/server-config.js'
import type { Connection, KnownBinding } from '../connections/connection.js'
import { StdioConnection, type StdioContext } from '../connections/stdio/stdio-connection.js'

/** A connection that is not open yet. The HTTP client is loaded at its first use: the start is quicker without it. */
export async function createConnection (config: NamedServer, context: StdioContext, known: KnownBinding): Promise<Connection> {
  if (config.url === undefined) return new StdioConnection(config, context, known)
  const { HttpConnection } = await import('../connections/http/http-connection.js')
  return new HttpConnection(config, context, known)
}
