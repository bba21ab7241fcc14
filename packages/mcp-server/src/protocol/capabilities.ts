import { isRecord, type Params } from './rpc.js'
import type { ClientCapabilities, ServerRequest } from '../tool-source.js'

/** What a client declares. Some write null for what they cannot do: what is no object is left out. */
export function declaredIn (capabilities: Params): ClientCapabilities {
  return Object.fromEntries(Object.entries(capabilities).filter(([, settings]) => isRecord(settings)))
}

/** What a client must have declared to be asked something; undefined where it has. */
export function missingFor ({ method, params = {} }: ServerRequest, { elicitation, sampling, roots }: ClientCapabilities): ClientCapabilities | undefined {
  switch (method) {
    case 'elicitation/create': {
      if (params.mode === 'url') return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined
      // an empty object means forms, and so did any before there were two kinds
      return elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined) ? { elicitation: { form: {} } } : undefined
    }
    case 'sampling/createMessage': {
      if (sampling === undefined) return { sampling: {} }
      return params.tools !== undefined && sampling.tools === undefined ? { sampling: { tools: {} } } : undefined
    }
    case 'roots/list': return roots === undefined ? { roots: {} } : undefined
    default: throw new TypeError(`a client cannot be asked for ${JSON.stringify(method)}; ask for elicitation/create, sampling/createMessage or roots/list`)
  }
}

/** Whether an answer has the form that its question wants. */
export function isAnswerTo ({ method }: ServerRequest, answer: unknown): answer is Readonly<Record<string, unknown>> {
  if (!isRecord(answer)) return false
  switch (method) {
    case 'elicitation/create': return ['accept', 'decline', 'cancel'].includes(answer.action as string) && (answer.content === undefined || isRecord(answer.content))
    case 'sampling/createMessage': return typeof answer.role === 'string' && answer.content !== undefined
    case 'roots/list': return Array.isArray(answer.roots)
    default: return false
  }
}
