// Interpreters that fail in odd ways, over every protocol. The call fails as its protocol has it, and the host lives.
import { questions } from '../../test/probes/index.mjs'

const QUESTIONS = [
  'stray', 'rejection', 'strayUndefined', 'throwNull', 'throwPath', 'circular', 'bigint', 'getter', 'toJson', 'number', 'symbol', 'deep', 'proxy', 'chunk 10000000',
  'tiny 100000'
]

export const group = {
  host: () => ({}),
  entries: context => QUESTIONS.map(question => ({
    name: question,
    async attack () {
      const seen = await Promise.all(questions(question, 'demo').map(async ([what, { path, body, headers }]) => ({ what, ...await context.post(path, body, headers, { readMs: 5_000 }) })))
      return { tried: seen.length, seen }
    },
    holds: ({ seen }) => seen.filter(({ status }) => status === 0).map(({ what, text }) => `${what}: no answer, ${text}`)
  }))
}
