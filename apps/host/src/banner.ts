import type { FastifyInstance } from 'fastify'
import { isOn } from './protocols.js'
import type { Config } from '@polyvac/core'

/** The start-up banner: what runs and where, every line ready to be pasted. */
export function banner (app: FastifyInstance, config: Config, url: string): string {
  const { vacs, assembly } = app.polyvac
  const first = vacs.names[0] ?? 'docs'
  const body = '-H \'content-type: application/json\' -d \'{"user_input":"How do I start?"}\''
  const lines: Array<[string, string]> = [['config', config.file]]
  for (const { name, config: { interpreter, agent } } of vacs.list()) {
    const about = [interpreter ?? agent ?? config.service.stream_interpreter, ...documents(assembly, name)].filter(Boolean)
    lines.push(['vac', `${name}${about.length === 0 ? '' : `  (${about.join(', ')})`}`])
  }
  lines.push(
    ['ask', `curl -s ${url}/vac/${first} ${body}`],
    ['stream', `curl -sN ${url}/vac/streaming/${first} ${body}`],
    ['openai', `${url}/openai/v1   model "${first}"`],
    ['api', `${url}/openapi.json`]
  )
  const { service } = config
  if (isOn(service.enable_a2a_agent)) lines.push(['a2a', `${url}/.well-known/agent.json`])
  if (isOn(service.enable_mcp_server)) lines.push(['mcp', `${url}/mcp`])
  return `${lines.map(([label, text]) => `  ${label.padEnd(8)} ${text}`).join('\n')}\n`
}

function documents (assembly: FastifyInstance['polyvac']['assembly'], vac: string): string[] {
  return (assembly.folders.get(vac) ?? []).map(folder => {
    const { files, passages, indexedInMs, ready } = folder.stats()
    const count = `${number(files)} files, ${number(passages)} passages`
    return ready ? `${count}, indexed in ${(indexedInMs / 1000).toFixed(1)} s` : `${count} so far, indexing`
  })
}

const number = (value: number): string => value.toLocaleString('en')
