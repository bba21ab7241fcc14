// Cases about the OpenAPI document, and about what a host answers to any client.
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from './processes.mjs'

const ARGUMENTS = { send_mail: ['to', 'cc'], render: ['f'], no_arguments: [], own_id: ['a', 'b'] }

/** The complaints of two validators about an OpenAPI document, by their names; an empty text is none. */
export async function validate (document, folder, modules) {
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  const bin = name => join(modules, 'node_modules/.bin', name)
  const redocly = await run(bin('redocly'), ['lint', '--extends=minimal', '--format=stylish', file], { cwd: folder, env: { REDOCLY_TELEMETRY: 'off', CI: 'true' } })
  const types = await run(bin('openapi-typescript'), [file, '-o', join(folder, 'types.ts')], { cwd: folder })
  const complaint = ({ code, text }) => code === 0 ? '' : `exit code ${code}: ${text.trim().slice(-600)}`
  return { redocly: complaint(redocly), 'openapi-typescript': complaint(types) }
}

export const VALIDATORS = ['@redocly/cli@2.77.0', 'openapi-typescript@7.13.0', 'typescript@5.9.3']

export const documentsOfTools = {
  '01-refs-into-the-schema.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const complaints = await validate(await host.get('/mcp/openapi.json'), c.folder(), await c.extras(...VALIDATORS))
    for (const [validator, text] of Object.entries(complaints)) c.is(validator, text, '')
  },

  '02-import-openapi.mjs': async c => {
    const server = join(dirname(c.file), readdirSync(dirname(c.file)).find(name => name.startsWith('01-refs')))
    const host = await c.gateway({ s: { command: process.execPath, args: [server] } })
    const { code, text } = await run(process.execPath, [c.file, `${host.url}/mcp/openapi.json`])
    c.is('exit code', code, 0)
    const [tools, servers] = text.trim().split('\n')
    const seen = JSON.parse(tools)
    c.is('operations', seen.length, Object.keys(ARGUMENTS).length)
    for (const [name, expected] of Object.entries(ARGUMENTS)) c.is(name, seen.find(tool => tool.name.endsWith(name))?.parameters, expected)
    c.holds('servers', /^https?:\/\//.test(JSON.parse(servers.replace('servers ', ''))?.[0]?.url), servers, 'an absolute URL')
  },

  '23-accept.sh': async c => {
    const host = await c.host({ enable_mcp_server: true })
    const { text } = await run('sh', [c.file, `${host.url}/mcp`])
    c.is('statuses', text.trim().split('\n'), ['application/json 200', 'text/event-stream 200', '*/* 200'])
  },

  '25-cors-delete.sh': async c => {
    const host = await c.host({ cors: true, allowed_origins: ['http://localhost:6274'], enable_mcp_server: true, enable_a2a_agent: true })
    const { text } = await run('sh', [c.file, host.url])
    const methods = text.split('\n').filter(line => /allow-methods/i.test(line)).map(line => /\bDELETE\b/.test(line))
    c.is('DELETE in the methods of both', methods, [true, true])
  }
}
