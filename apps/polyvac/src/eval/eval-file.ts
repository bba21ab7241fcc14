import { ConfigError } from '@polyvac/core'
import { parseWith, readBoundedFile } from '@polyvac/core/plugin'
import { Type, type Static } from '@sinclair/typebox'

/** The largest file, in bytes, and the most cases of one. */
export const MAX_EVAL_BYTES = 1024 * 1024
export const MAX_EVAL_CASES = 1_000

/** Chat completions and responses have no calls of tools that the service made. */
const WITHOUT_CALLS: readonly string[] = ['openai', 'responses']

const PROTOCOLS = ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp'] as const
const Text = Type.String({ minLength: 1 })
const Texts = Type.Union([Text, Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })])

/** What an answer must be; each key is one condition. */
const Expectation = Type.Object({
  contains: Type.Optional(Texts),
  cites: Type.Optional(Texts),
  refuses: Type.Optional(Type.Boolean()),
  calls: Type.Optional(Type.Array(Text)),
  schema: Type.Optional(Type.Object({}, { additionalProperties: true })),
  judge: Type.Optional(Text)
}, { additionalProperties: false, minProperties: 1 })
export type Expectation = Static<typeof Expectation>

const EvalCase = Type.Object({ question: Text, expect: Expectation }, { additionalProperties: false })
export type EvalCase = Static<typeof EvalCase>

export const EvalFile = Type.Object({
  vac: Text,
  protocol: Type.Optional(Type.Union(PROTOCOLS.map(name => Type.Literal(name)))),
  model: Type.Optional(Text),
  cases: Type.Array(EvalCase, { minItems: 1, maxItems: MAX_EVAL_CASES })
}, { additionalProperties: false })
export type EvalFile = Static<typeof EvalFile>

/** Questions and what their answers must be. @throws CONFIG_INVALID with all problems, each with its file and line */
export async function readEvalFile (file: string): Promise<EvalFile> {
  const fail = (message: string): never => { throw new ConfigError([{ file, line: 1, column: 1, message, text: `${file}  ${message}` }]) }
  const bytes = await readBoundedFile(file, MAX_EVAL_BYTES).catch((err: NodeJS.ErrnoException) => fail(err.code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${err.message}`))
  const read = parseWith(EvalFile, bytes.toString('utf8'), file)
  const { protocol = 'direct', cases } = read
  const without = cases.findIndex(({ expect }) => expect.calls !== undefined)
  if (without !== -1 && WITHOUT_CALLS.includes(protocol)) fail(`cases.${without} expects \`calls\`, and the protocol ${protocol} has no calls of tools; take another one, such as direct`)
  return read
}
