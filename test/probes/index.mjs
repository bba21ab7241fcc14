// How a test or a script asks a VAC over each protocol. A protocol without a probe fails
// packages/vac/test/protocols.test.ts.
import { a2a } from './a2a.mjs'
import { direct } from './direct.mjs'
import { mcp } from './mcp.mjs'
import { openai } from './openai.mjs'

export const PROBES = { direct, openai, a2a, mcp }

/** A question in every form of every protocol: `[what, { path, body, headers }, probe]`. */
export function questions (text, vac, probes = PROBES) {
  return Object.entries(probes).flatMap(([name, probe]) =>
    Object.entries(probe.ask).map(([form, ask]) => [`${name}: ${form}`, { headers: {}, ...ask(text, vac) }, probe]))
}
