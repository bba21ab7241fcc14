import { isMap, isScalar, isSeq, type Document, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml'
import { inputVariable, type ClientInputs } from './client-variables.js'
import { McpServerConfig } from './schema.js'
import { meantKey } from './mcp-server-problems.js'

/** Where files of MCP clients keep their servers: Claude Desktop and most others, then VS Code. */
const CLIENT_KEYS = ['mcpServers', 'servers']
const OWN_KEYS = ['kind', 'vac', 'service']
/** Keys for `url` in the files of single clients. */
const URL_KEYS = ['serverUrl', 'httpUrl']

export interface ClientFile {
  /** The removed keys, for warnings. */
  readonly removed: ReadonlyArray<{ readonly node: Node, readonly key: string, readonly server: string }>
  readonly inputs: ClientInputs
}

/**
 * Turns the tree of an MCP client's configuration file into one of `vac_config.yaml`: a gateway without VACs. The nodes
 * stay the same, so problems keep their places. Keys that only the client uses are removed.
 * @param service the section `service`, to which the servers are added
 * @returns undefined where the file is not one of a client
 */
export function adoptClientFile (document: Document, service: object): ClientFile | undefined {
  const { contents } = document
  if (!isMap(contents) || OWN_KEYS.some(key => contents.has(key))) return undefined
  const key = CLIENT_KEYS.find(key => isMap(contents.get(key, true)))
  if (key === undefined) return undefined
  const servers = contents.get(key, true)
  if (!isMap(servers)) return undefined
  const inputs = inputsOf(contents)
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
    markSecrets(document, value, inputs)
  }
  document.contents = document.createNode({ kind: 'vacConfig', service }) as typeof document.contents
  document.setIn(['service', 'mcp_servers'], servers)
  return { removed, inputs }
}

function inputsOf (contents: YAMLMap): ClientInputs {
  const inputs = contents.get('inputs', true)
  const entries = (isSeq(inputs) ? inputs.items : []).filter(isMap).map(input => {
    const preset = input.get('default')
    return [String(input.get('id')), { default: typeof preset === 'string' ? preset : undefined, isSecret: input.get('password') === true }] as const
  })
  return new Map(entries)
}

/** Marks what a person would type as a password, so that the gateway removes it from results. */
function markSecrets (document: Document, server: YAMLMap, inputs: ClientInputs): void {
  const text = JSON.stringify(server)
  const used = [...inputs].filter(([id, { isSecret }]) => isSecret && text.includes(`\${input:${id}}`))
  if (used.length > 0 && !server.has('secret_env')) server.set('secret_env', document.createNode(used.map(([id]) => inputVariable(id))))
}

const STRING_OR_COMMENT = /"[^"\\]*(?:\\[^][^"\\]*)*"|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g

/** JSON with spaces in place of its comments, which editors write and YAML does not have. All places stay. */
export function withoutComments (text: string): string {
  return text.replace(STRING_OR_COMMENT, part => part.startsWith('"') ? part : part.replace(/[^\n]/g, ' '))
}
