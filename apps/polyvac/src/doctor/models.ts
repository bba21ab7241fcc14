import type { VacConfig } from '@polyvac/core'
import { checkModel, type HostConfig } from '@polyvac/host/command'
import { ok, problem, type Finding } from './finding.js'

interface Use {
  readonly check: string
  readonly kind: 'text' | 'embedding'
  readonly entry: Pick<VacConfig, 'model' | 'openai'>
}

/** Whether the model server of each VAC can be reached, and lists the model that writes and the one that embeds. */
export async function * checkModels ({ vac: vacs }: HostConfig): AsyncGenerator<Finding> {
  for (const { check, kind, entry } of Object.entries(vacs).flatMap(usesOf)) {
    const { server, model, problem: reason } = await checkModel(entry, { kind, signal: new AbortController().signal })
    const where = server === undefined ? '' : `${new URL(server).origin}: `
    if (reason === undefined) yield ok(check, `${where}lists ${model}`)
    else if (server === undefined && entry.model === 'auto') yield ok(check, `${reason}, and \`auto\` needs none`)
    else yield problem(check, where + reason, 'start the server, add the model to it, or change `model`, `embed` and `openai` of the VAC')
  }
}

function usesOf ([name, config]: readonly [name: string, config: VacConfig]): Use[] {
  const { model = 'extractive', embed, openai } = config
  const { model: named, ...server } = openai ?? {}
  const isText = model !== 'extractive' || named !== undefined
  return [
    ...isText ? [{ check: `model of ${name}`, kind: 'text' as const, entry: config }] : [],
    ...embed === undefined ? [] : [{ check: `embed of ${name}`, kind: 'embedding' as const, entry: { model: embed, openai: server } }]
  ]
}
