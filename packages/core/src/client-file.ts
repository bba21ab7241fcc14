import { isMap, isScalar, type Document, type Node, type Pair, type Scalar } from 'yaml'
import { McpServerConfig } from './config-schema.js'
import { meantKey } from './mcp-server-problems.js'

/** Where files of MCP clients keep their servers: Claude Desktop and most others, then VS Code. */
const CLIENT_KEYS = ['mcpServers', 'servers']
const OWN_KEYS = ['kind', 'vac', 'service']
/** Keys for `url` in the files of single clients. */
const URL_KEYS = ['serverUrl', 'httpUrl']

/**
 * Turns the tree of an MCP client's configuration file into one of `vac_config.yaml`: a gateway without VACs. The nodes
 * stay the same, so problems keep their places. Keys that only the client uses are removed.
 * @returns the removed keys, for warnings; undefined where the file is not one of a client
 */
export function adoptClientFile (document: Document): Array<{ node: Node, key: string, server: string }> | undefined {
  const { contents } = document
  if (!isMap(contents) || OWN_KEYS.some(key => contents.has(key))) return undefined
  const key = CLIENT_KEYS.find(key => isMap(contents.get(key, true)))
  if (key === undefined) return undefined
  const servers = contents.get(key, true)
  if (!isMap(servers)) return undefined
  servers.items = servers.items.filter(({ value }) => !isMap(value) || value.get('disabled') !== true)
  const removed: Array<{ node: Node, key: string, server: string }> = []
  for (const { key: server, value } of servers.items) {
    if (!isMap(value)) continue
    value.items = (value.items as Array<Pair<Scalar>>).filter(({ key }) => {
      const name = String(key.value)
      if (URL_KEYS.includes(name)) key.value = 'url'
      if (String(key.value) in McpServerConfig.properties || meantKey(name) !== undefined) return true
      removed.push({ node: key, key: name, server: isScalar(server) ? String(server.value) : '' })
      return false
    })
  }
  // a client's folder gets no files of ours
  const service = { enable_mcp_server: true, tasks: { store: 'memory' } }
  document.contents = document.createNode({ kind: 'vacConfig', service }) as typeof document.contents
  document.setIn(['service', 'mcp_servers'], servers)
  return removed
}
