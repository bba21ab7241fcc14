import { isRecord, quoteName, vacNameProblem } from '@polyvac/core/plugin'
import { Type, type Static } from '@sinclair/typebox'

const secret = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const Credential = Type.Object({
  api_key: secret('key, sent where the card states'),
  token: secret('bearer token'),
  username: secret('name for HTTP basic authentication'),
  password: secret('its password'),
  client_id: secret('client of OAuth 2.0 client credentials'),
  client_secret: secret('its secret'),
  token_url: Type.Optional(Type.String({ minLength: 1, description: 'token endpoint of the client credentials; default: that of the card, at the origin of `url`' })),
  scope: Type.Optional(Type.String({ minLength: 1, description: 'scope of the client credentials; default: those of the card' })),
  cert: secret('certificate for mutual TLS, as PEM or the path of a file with it'),
  key: secret('its private key, likewise'),
  ca: secret('certificates to trust besides those of Node.js, likewise')
}, { additionalProperties: false, description: 'api_key; token; username and password; client_id and client_secret; or cert and key' })

/** What is needed together, and what goes with it. */
const FORMS: ReadonlyArray<{ readonly needs: readonly string[], readonly takes?: readonly string[] }> = [
  { needs: ['api_key'] },
  { needs: ['token'] },
  { needs: ['username', 'password'] },
  { needs: ['client_id', 'client_secret'], takes: ['token_url', 'scope'] },
  { needs: ['cert', 'key'], takes: ['ca'] }
]

/** One agent of another service that answers over A2A: a VAC here. */
export const A2aAgentConfig = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, description: 'name of its VAC' }),
  url: Type.String({ minLength: 1, description: 'address of the agent, or of its card; it may be in a private network' }),
  auth: Type.Optional(Type.Record(Type.String(), Credential, { description: 'credentials by the names of the schemes in its card' })),
  headers: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'sent with every request to the origin of `url`' })),
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'seconds for one answer; default 3600' })),
  skill: Type.Optional(Type.String({ minLength: 1, description: 'id of its skill that every message is for; default: it chooses' })),
  extensions: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'extensions of A2A that messages name' })),
  // a number without quotes in YAML
  protocol: Type.Optional(Type.Union([Type.Literal('1.0'), Type.Literal('0.3'), Type.Literal(1), Type.Literal(0.3)], {
    description: 'the only version of A2A to use: 1.0 or 0.3; default: 1.0, or 0.3 where its card has no other'
  })),
  verify: Type.Optional(Type.Union([Type.Literal('off'), Type.Literal('if-present'), Type.Literal('require')], {
    description: 'which cards have to have a valid signature: `require` all, `if-present` those that are signed, `off` none; default: `require` with `keys`, otherwise `off`'
  })),
  keys: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1 })], {
    description: 'public keys for the signature of its card: the path or address of a JWK set, or a list of JWKs, each with a `kid`'
  }))
}, { additionalProperties: false })
export type A2aAgentConfig = Static<typeof A2aAgentConfig>

/** One thing wrong with the list of agents. */
export interface AgentProblem {
  readonly index: number
  /** Where in the entry; undefined: the whole of it. */
  readonly path: readonly string[]
  readonly message: string
  readonly hint?: string | undefined
}

/** What the schema of the agents cannot express. Entries may have any content. */
export function agentProblems (entries: readonly unknown[], { vacs, servers }: { readonly vacs: readonly string[], readonly servers: readonly string[] }): AgentProblem[] {
  const problems: AgentProblem[] = []
  // @keyed none: names in the configuration, of one check
  const names = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    if (!isRecord(entry)) continue
    const { name, url, auth, verify, keys } = entry
    const report = (path: readonly string[], message: string, hint?: string): void => { problems.push({ index, path, message, hint }) }
    if (typeof name === 'string') {
      const bad = vacNameProblem(name)
      const server = servers.find(server => name === server || name.startsWith(`${server}__`))
      if (bad !== undefined) report(['name'], `${quoteName(name)} cannot be the name of a VAC: ${bad.reason}`, bad.remedy)
      else if (names.has(name)) report(['name'], `two agents are named ${quoteName(name)}`, 'rename one of them')
      else if (vacs.includes(name)) report(['name'], `there is a VAC named ${quoteName(name)}`, 'rename one of them')
      else if (server !== undefined) report(['name'], `the tools of the MCP server ${quoteName(server)} have such names`, 'rename one of them')
      names.add(name)
    }
    // one with a variable that is not set is reported as that
    if (typeof url === 'string' && !url.includes('${')) {
      const parsed = URL.canParse(url) ? new URL(url) : undefined
      if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) report(['url'], 'expected an http(s) address')
      else if (parsed.username !== '') report(['url'], 'the address has a user name', 'use `auth:`')
    }
    if (keys === undefined && (verify === 'require' || verify === 'if-present')) report(['verify'], 'there are no keys to verify signatures with', 'add "keys:"')
    const [, second] = Object.entries(isRecord(auth) ? auth : {}).filter(([, credential]) => isRecord(credential) && 'cert' in credential)
    if (second !== undefined) report(['auth', second[0]], 'a connection has one certificate', 'leave one of them out')
    for (const [scheme, credential] of Object.entries(isRecord(auth) ? auth : {})) {
      if (!isRecord(credential)) continue
      const given = Object.keys(credential)
      const { token_url: tokenUrl } = credential
      if (typeof tokenUrl === 'string' && !tokenUrl.includes('${') && !URL.canParse(tokenUrl)) report(['auth', scheme, 'token_url'], 'expected an http(s) address')
      const isForm = FORMS.some(({ needs, takes = [] }) => needs.every(key => given.includes(key)) && given.every(key => needs.includes(key) || takes.includes(key)))
      // the schema reports unknown keys
      if (isForm || given.some(key => !(key in Credential.properties))) continue
      report(['auth', scheme], `expected one credential: ${Credential.description!}`, missingKey(given))
    }
  }
  return problems
}

/** The key that makes what is given a whole credential. */
function missingKey (given: readonly string[]): string | undefined {
  const { needs } = FORMS.find(({ needs }) => needs.some(key => given.includes(key))) ?? {}
  const missing = needs?.find(key => !given.includes(key))
  return missing === undefined ? undefined : `add "${missing}:"`
}
