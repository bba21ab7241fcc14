import type { NamedServer } from '../config/server-config.js'
import type { Connection, KnownBinding } from '../connections/connection.js'
import { StdioConnection, type StdioContext } from '../connections/stdio/stdio-connection.js'

/**
 * Loads the HTTP client with its authorization if one of these servers needs it: at a first request it would keep the
 * event loop for 100 ms. A start without such a server is quicker.
 */
export async function loadClients (configs: readonly NamedServer[]): Promise<void> {
  if (configs.some(({ url }) => url !== undefined)) await import('../connections/http/http-connection.js')
}

/** Creates a connection without opening it. */
export async function createConnection (config: NamedServer, context: StdioContext, known: KnownBinding): Promise<Connection> {
  if (config.url === undefined) return new StdioConnection(config, context, known)
  const { HttpConnection } = await import('../connections/http/http-connection.js')
  return new HttpConnection(config, context, known)
}
