import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { root } from '../fixtures/command.js'

/** The one file that compares owners and scopes to decide about access. */
const ACCESS = 'packages/core/src/access/access.ts'

/** A comparison of owners, a look into a list of scopes, or the text of a scope. */
const COMPARISON = /\bowner\b\)? *[!=]== *(?! |undefined|null|'')|[!=]== *[\w.?!]*\bowner\b|\bscopes\b[!?]*\.(?:includes|some|every|find|filter)\b|`(?:vac|tool):\$|'admin'/

/** Lines that match and decide about no access, by what stands in them, with the reason. */
const OTHERS: ReadonlyArray<readonly [file: string, part: string, reason: string]> = [
  ['packages/a2a/src/push/recent-deliveries.ts', '?.owner === owner', 'counts the share of an owner'],
  ['packages/a2a/src/tasks/stream-quota.ts', 'held.owner !== owner', 'finds the readers of an owner that holds too much'],
  ['packages/a2a/src/tasks/stream-quota.ts', 'charsOf.get(owner) === most', 'finds the owner that holds most'],
  ['packages/auth/src/token-authentication.ts', 'principal?.owner === owner', 'finds the entry of a credential'],
  ['packages/core/src/access/principal.ts', 'owner.trim() !== owner', 'checks the form of a name'],
  ['packages/core/src/approvals/approving-interpreter.ts', '=== false ? `vac:', 'the name of an agent in a list of tools'],
  ['packages/core/src/basics/tool-name.ts', '__x`)} would mean', 'the text of a message'],
  ['packages/mcp-gateway/src/input/interactive-calls.ts', 'running.principal?.owner === principal.owner', 'counts the share of an owner'],
  ['packages/mcp-gateway/src/rights.ts', 'refuse(servers, principal', 'the text of a line of the log'],
  ['packages/mcp-gateway/src/session/answer-fence.ts', '=== owner', 'finds whose work a message of a server belongs to'],
  ['packages/mcp-gateway/src/session/open-work.ts', 'owner', 'finds whose work a message of a server belongs to'],
  ['packages/mcp-gateway/src/sign-in/sign-ins.ts', 'who === owner', 'wakes the calls that wait for a sign-in of their owner'],
  ['packages/mcp-gateway/src/upstream/own-processes.ts', 'member.owner === owner', 'counts the share of an owner'],
  ['packages/mcp-gateway/src/upstream/owned-upstream.ts', 'this.#members.get(owner) === member', 'compares connections'],
  ['packages/mcp-server/src/eras/legacy.ts', 'of.owner === session.owner', 'notifies the sessions of the owner whose lists changed'],
  ['packages/mcp-server/src/lists/distinct-names.ts', 'owner !== position', 'the position of a source'],
  ['packages/mcp-server/src/methods/listen.ts', 'of.owner !== call.principal?.owner', 'notifies the streams of the owner whose lists changed'],
  ['packages/runs/src/run-owner.ts', 'owner === ANONYMOUS', 'finds whose share of the memory a run counts in'],
  ['packages/tasks/src/basics/owner-key.ts', 'owner === ANYONE', 'keeps principals off the key of callers without identity'],
  ['packages/tasks/src/basics/owner-share.ts', 'owner === ANYONE', 'gives the callers without identity the whole'],
  ['packages/tasks/src/postgres/worker.ts', 'row.owner === owner', 'counts the share of an owner'],
  ['packages/tasks/src/sqlite/outbox-rows.ts', 'full.owner === owner', 'counts the share of an owner'],
  ['apps/host/src/protocols.ts', 'vacs.list().map(', 'names the scopes that clients may ask for'],
  ['apps/polyvac/src/commands/token.ts', 'scopes.find(', 'checks the form of a scope on the command line']
]

function sources (): string[] {
  return ['packages', 'apps'].flatMap(folder => readdirSync(join(root, folder)).flatMap(name => {
    const src = join(folder, name, 'src')
    try {
      return readdirSync(join(root, src), { recursive: true }).map(String).filter(file => file.endsWith('.ts')).map(file => join(src, file))
    } catch { return [] }
  }))
}

test('one file compares owners and scopes to decide about access, and every binding asks it', t => {
  const used = new Set<unknown>()
  const callers = new Set<string>()
  for (const file of sources()) {
    const text = readFileSync(join(root, file), 'utf8')
    if (/\b(?:mayUse|mayUseThing|vacsFor)\(/.test(text)) callers.add(file.split('/')[1]!)
    if (file === ACCESS) continue
    for (const [i, line] of text.split('\n').entries()) {
      const code = line.replace(/^\s*(?:\*|\/\*\*|\/\/).*$/, '').replace(/typeof [\w.]+/g, '')
      if (!COMPARISON.test(code)) continue
      const row = OTHERS.find(([name, part]) => name === file && code.includes(part))
      t.ok(row, `${file}:${i + 1} decides about access outside ${ACCESS}: ${line.trim().slice(0, 100)}`)
      used.add(row)
    }
  }
  for (const row of OTHERS) t.ok(used.has(row), `${row[0]}: no line has ${row[1]} any more`)
  t.strictSame([...callers].sort(), ['a2a', 'core', 'host', 'mcp-gateway', 'mcp-server', 'runs', 'vac'])
  t.end()
})
