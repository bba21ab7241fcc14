// How a test or a script asks a VAC over each protocol. A protocol without a probe fails
// packages/vac/test/protocols.test.ts.
import { PROTOCOLS } from '@polyvac/vac'
import { a2a } from './a2a.mjs'
import { aiSdk } from './ai-sdk.mjs'
import { agUi } from './ag-ui.mjs'
import { direct } from './direct.mjs'
import { mcp } from './mcp.mjs'
import { openai } from './openai.mjs'
import { responses } from './responses.mjs'

export const PROBES = { direct, openai, responses, ai_sdk: aiSdk, ag_ui: agUi, a2a, mcp }

/** The names of the protocols of the plugin of VACs, of which some are off by default. */
export const VAC_PROTOCOLS = Object.keys(PROTOCOLS)

/** Every form of every protocol: `[what, ask, probe]`. A request that `ask` makes is sent once. */
export function forms (probes = PROBES, kinds = ['ask', 'stream']) {
  return Object.entries(probes).flatMap(([name, probe]) => kinds.flatMap(kind => Object.entries(probe[kind]).map(([form, ask]) =>
    [`${name}: ${form}`, (text, vac) => ({ headers: {}, ...ask(text, vac) }), probe])))
}

/** A question in every form of every protocol: `[what, { path, body, headers }, probe]`. */
export function questions (text, vac, probes = PROBES, kinds = undefined) {
  return forms(probes, kinds).map(([what, ask, probe]) => [what, ask(text, vac), probe])
}

/** A question for each path, by the path: `{ path, body, headers }`. */
export function questionsByPath (text, vac) {
  return new Map(questions(text, vac).reverse().map(([, request]) => [request.path, request]))
}

/** The paths to which questions to a VAC are posted, each once. */
export const pathsOf = vac => [...questionsByPath('x', vac).keys()]
