import type { NamedServer } from '../config/server-config.js'
import type { Connection, KnownBinding } from '../connections/connection.js'
import { StdioConnection, type StdioContext } from '../connections/stdio/stdio-connection.js'

/** Creates a connection without opening it. The HTTP client is loaded at its first use, for a quicker start. */
export async function createConnection (config: NamedServer, context: StdioContext, known: KnownBinding): Promise<Connection> {
  if (config.url === undefined) return new StdioConnection(config, context, known)
  const { HttpConnection } = await import('../connections/http/http-connection.js')
  return new HttpConnection(config, context, known)
}
