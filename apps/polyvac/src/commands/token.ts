import { createToken } from '@polyvac/auth'
import { UsageError } from '../errors.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

const SCOPE = /^(?:vac:.+|tool:.+|admin)$/

/** `polyvac token <owner> [scope…]`: prints a new token once, and the entry that the configuration keeps. */
export async function token ({ words: [owner, ...words] }: Arguments, io: CommandIo): Promise<void> {
  if (owner === undefined) throw new UsageError("polyvac token needs the name of an owner: polyvac token alice 'vac:*'")
  const scopes = words.flatMap(word => word.split(',')).filter(word => word !== '')
  const wrong = scopes.find(scope => !SCOPE.test(scope))
  if (wrong !== undefined) {
    throw new UsageError(`${JSON.stringify(wrong)} is not a scope: vac:<name>, vac:*, tool:<server>, tool:<server>__<tool> or admin`)
  }
  const { token, entry } = createToken(owner, scopes.length === 0 ? undefined : scopes)
  const fields = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  io.stdout.write(`token, shown only here: ${token}\n\nservice:\n  auth:\n    tokens:\n      - { ${fields.join(', ')} }\n`)
}
