// An MCP server on standard input and output that reads a folder, the argument: the server `files` of vac_config.yaml.
// Published servers of files bring as many packages as half of what `npm start` installs.
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

/** Largest file, in bytes, that a call reads. */
const MAX_BYTES = 1024 ** 2

const folder = await realpath(process.argv[2] ?? '.')
const server = new McpServer({ name: 'files', version: '1.0.0' })
const annotations = { readOnlyHint: true, openWorldHint: false }
const inputSchema = z.object({ path: z.string().describe('relative to the folder, such as "guides"') })

server.registerTool('list_directory', { description: 'Lists a folder; [DIR] and [FILE] mark folders and files.', inputSchema, annotations }, async ({ path }) => {
  const entries = await readdir(await inside(path), { withFileTypes: true })
  return text(entries.map(entry => `[${entry.isDirectory() ? 'DIR' : 'FILE'}] ${entry.name}`).join('\n'))
})

server.registerTool('read_text_file', { description: 'Reads a file as text.', inputSchema, annotations }, async ({ path }) => {
  const file = await inside(path)
  const { size } = await stat(file)
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes; a call reads at most ${MAX_BYTES}`)
  return text(await readFile(file, 'utf8'))
})

await server.connect(new StdioServerTransport())

/** The real path of a file or folder, which must be in the folder, links included; what is elsewhere looks missing. */
async function inside (path) {
  const found = await realpath(resolve(folder, path)).catch(() => '')
  if (found === '' || /^\.\.(?:[\\/]|$)/.test(relative(folder, found))) throw new Error(`${path} is not in the folder`)
  return found
}

function text (text) {
  return { content: [{ type: 'text', text }] }
}
