import { parseConfig, type HostConfig } from '@polyvac/host/command'
import { resolve } from 'node:path'

/** Programs and their words that start other programs: they do not name a server. */
const RUNNERS = new Set([
  'npx', 'bunx', 'uvx', 'pnpx', 'npm', 'pnpm', 'yarn', 'bun', 'deno', 'node', 'tsx', 'python', 'python3', 'uv', 'docker', 'podman',
  'exec', 'dlx', 'run', 'tool', 'sh', 'bash', 'env'
])

/** Names of files that do not name a server. */
const GENERIC = /^(?:index|main|server|cli|start|dist|build|src|lib|bin|node_modules|mcp|\.+)?$/

/**
 * The configuration of `polyvac -- command arguments`: a gateway to one MCP server, at /mcp and over REST. Nothing is
 * kept in the working directory.
 */
export function commandConfig (command: readonly string[], cwd = process.cwd()): HostConfig {
  const [program = '', ...args] = command
  const text = JSON.stringify({
    kind: 'vacConfig',
    service: {
      enable_mcp_server: true,
      tasks: { store: 'memory' },
      // a program in a relative path, such as ../server, is one of the working directory
      mcp_servers: [{ name: serverName(command), command: /^\.{1,2}[/\\]/.test(program) ? resolve(cwd, program) : program, args }]
    }
  })
  return parseConfig(text.replaceAll('$', '$$$$'), resolve(cwd, COMMAND_LINE))
}

/** In place of the name of a file; no such file exists. */
export const COMMAND_LINE = '(command line)'

/** A short name for the server of a command: `everything` for `npx -y @modelcontextprotocol/server-everything`. */
export function serverName (command: readonly string[]): string {
  for (const word of command) {
    if (word.startsWith('-')) continue
    for (const part of word.split(/[/\\]/).reverse()) {
      const name = part.replace(/@[^@]*$/, '').replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, '')
        .replace(/^(?:mcp-)?server-|^mcp-|-mcp(?:-server)?$|-server$/g, '').replace(/[^\w-]+/g, '-')
      if (!RUNNERS.has(name) && !GENERIC.test(name)) return name
    }
  }
  return 'server'
}
