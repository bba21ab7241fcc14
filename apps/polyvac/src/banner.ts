import type { FastifyInstance } from 'fastify'
import type { HostConfig } from '@polyvac/host/command'
import { exampleQuestions, gatewayProblems, questionBody, shownUrl, type Gateway } from '@polyvac/host/command'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { COMMAND_LINE } from './command-config.js'
import { toPlainLines, toPlainText } from './terminal.js'

/** The start-up banner: VACs, protocols and their URLs, as lines that can be pasted into a shell. */
export async function banner (app: FastifyInstance, config: HostConfig, url: string): Promise<string> {
  const { vacs, assembly, protocols, vacProtocols, gateway, database } = app.polyvac
  const [vac] = vacs.list()
  const first = vac?.name
  const { auth } = config.service
  const access = auth?.tokens === undefined && auth?.jwt === undefined ? '' : '-H "Authorization: Bearer $TOKEN" '
  const [question] = await exampleQuestions(vac, first === undefined ? [] : assembly.folders.get(first))
  const body = `${access}-H 'content-type: application/json' -d ${questionBody(question)}`
  const lines: Array<[string, string]> = []
  if (existsSync(config.file)) lines.push(['config', config.file])
  else if (basename(config.file) !== COMMAND_LINE) lines.push(['folder', `${config.folder}   (no configuration file)`])
  lines.push(protocols.includes('@polyvac/playground')
    ? ['chat', `${url}/   in a browser: ask, and see each protocol`]
    : ['page', `${url}/   in a browser: what is served, and commands to paste`])
  for (const { name, config: { interpreter, agent } } of vacs.list()) {
    const about = [interpreter ?? agent ?? config.service.stream_interpreter, ...documents(assembly, name), remoteProblem(assembly, config, name)].filter(Boolean)
    lines.push(['vac', `${name}${about.length === 0 ? '' : `  (${about.join(', ')})`}`])
    for (const text of leftOut(assembly, name)) lines.push(['', text])
  }
  if (first !== undefined && vacProtocols.includes('direct')) {
    lines.push(['ask', `curl -s ${url}/vac/${first} ${body}`], ['stream', `curl -sN ${url}/vac/streaming/${first} ${body}`])
  }
  if (first !== undefined && vacProtocols.some(name => ['openai', 'responses'].includes(name))) lines.push(['openai', `${url}/openai/v1   base URL for OpenAI clients and chat apps, model "${first}"`])
  if (first !== undefined && vacProtocols.includes('ai_sdk')) lines.push(['useChat', `${url}/ai/${first}   api of useChat, and of other transports of the AI SDK`])
  if (first !== undefined && vacProtocols.includes('ag_ui')) lines.push(['ag-ui', `${url}/ag-ui/${first}   for AG-UI clients; ${url}/ag-ui is the runtimeUrl of CopilotKit`])
  lines.push(['api', `${url}/openapi.json   all routes, as OpenAPI`])
  if (protocols.includes('@polyvac/a2a')) lines.push(['a2a', `${url}/.well-known/agent.json   agent card, for other agents`])
  if (protocols.includes('@polyvac/mcp-server')) lines.push(['mcp', `${url}/mcp   for desktop apps and editors that take MCP servers`])
  if (database !== undefined) lines.push(['tasks', `PostgreSQL at ${database}`])
  if (gateway !== undefined) {
    lines.push(['tools', `${url}/mcp/tools   the tools of the MCP servers below, as JSON`])
    for (const line of serverStates(gateway)) lines.push(['server', line])
  }
  return toPlainLines(`${lines.map(([label, text]) => `  ${label.padEnd(8)} ${toPlainText(text)}`).join('\n')}\n`)
}

/** Why an agent of another service cannot be asked, with its address. */
function remoteProblem (assembly: FastifyInstance['polyvac']['assembly'], { service: { a2a_agents: agents } }: HostConfig, name: string): string | undefined {
  const problem = assembly.agents?.problems().find(agent => agent.name === name)
  const url = agents?.find(agent => agent.name === name)?.url
  return problem === undefined || url === undefined ? undefined : `${shownUrl(url)}: ${problem.reason}`
}

/** The MCP servers and their states. */
function serverStates (gateway: Gateway): string[] {
  const problems = new Map(gatewayProblems(gateway).map(({ server, reason }) => [server, reason]))
  return gateway.names.map(name => `${name}  (${problems.get(name) ?? 'is ready'})`)
}

/** The states again, for servers that were starting when the banner was printed. */
export function serverLines (gateway: Gateway): string {
  return toPlainLines(serverStates(gateway).map(line => `  ${'server'.padEnd(8)} ${line}\n`).join(''))
}

/** The indexed documents of each VAC. */
export function documentsLine (app: FastifyInstance): string {
  const { vacs, assembly } = app.polyvac
  return vacs.names.flatMap(name => documents(assembly, name).map(text => `  ${'indexed'.padEnd(8)} ${name}: ${text}\n`)).join('')
}

function documents (assembly: FastifyInstance['polyvac']['assembly'], vac: string): string[] {
  return (assembly.folders.get(vac) ?? []).map(folder => {
    const { files, passages, indexedInMs, ready } = folder.stats()
    const count = `${number(files)} file${files === 1 ? '' : 's'}, ${number(passages)} passage${passages === 1 ? '' : 's'}`
    return ready ? `${count}, indexed in ${(indexedInMs / 1000).toFixed(1)} s` : `${count} so far, indexing`
  })
}

function leftOut (assembly: FastifyInstance['polyvac']['assembly'], vac: string): string[] {
  return (assembly.folders.get(vac) ?? []).map(folder => folder.leftOut()).filter(({ files }) => files > 0).map(({ text }) => text)
}

/** `toLocaleString` loads the tables of ICU, 40 ms in which the first requests wait. */
const number = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ',')
