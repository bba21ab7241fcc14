import { createToken } from '@polyvac/auth'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { published } from '../fixtures/command.js'
import { CALLERS, FAR, OTHER_VAC, SERVER, twinOf, VAC, type Caller } from './callers.js'

const FILES = fileURLToPath(new URL('./files', import.meta.url))
const AUDIENCE = 'https://agents.example.org'
/** In seconds; beyond the difference of clocks that a service grants. */
const EXPIRED_FOR = 3_600

async function listening (server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

export async function freePort (): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  server.close()
  await once(server, 'close')
  return port
}

/** A folder with the configuration of a service of all protocols, and the credentials of all callers. */
export class Service {
  readonly folder: string
  readonly grpcPort: number
  readonly #authorizations = new Map<string, string>()
  readonly #issuer: Server
  readonly #config: (tokens: readonly object[]) => object
  readonly #tokens: readonly object[]
  readonly #removed: object

  private constructor (folder: string, grpcPort: number, issuer: Server, config: (tokens: readonly object[]) => object) {
    [this.folder, this.grpcPort, this.#issuer, this.#config] = [folder, grpcPort, issuer, config]
    const tokenOf = ({ name, owner = 'alice', scopes }: Caller): object => {
      const { token, entry } = createToken(owner, scopes as string[] | undefined)
      this.#authorizations.set(name, `Bearer ${token}`)
      return entry
    }
    const all = [...CALLERS, ...CALLERS.filter(({ owner }) => owner !== undefined).map(twinOf)]
    this.#tokens = all.filter(({ by = 'token' }) => by === 'token').map(tokenOf)
    this.#removed = tokenOf(CALLERS.find(({ by }) => by === 'removed')!)
  }

  /** @param more replaces keys of the section `service`; @param far the address of the MCP server with tasks */
  static async prepare (far: string, more: object = {}): Promise<Service> {
    const folder = await mkdtemp(join(tmpdir(), 'polyvac-access-'))
    await cp(FILES, folder, { recursive: true })
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const keys = JSON.stringify({ keys: [{ ...await exportJWK(publicKey), kid: 'k', alg: 'ES256' }] })
    const issuer = createServer((_request, response) => { response.end(keys) })
    const url = `http://127.0.0.1:${await listening(issuer)}`
    const grpcPort = await freePort()
    const [command, ...args] = published('everything', 'stdio')
    const memory = [{ docs: { vectorstore: 'folder', path: './docs' } }]
    const config = (tokens: readonly object[]): object => ({
      kind: 'vacConfig',
      service: {
        stream_interpreter: './interpreter.mjs',
        enable_a2a_agent: true,
        a2a: { grpc: { port: grpcPort } },
        enable_mcp_server: true,
        enable_playground: true,
        mcp_servers: [{ name: SERVER, command, args }, { name: FAR, url: far }],
        telemetry: { prometheus: true },
        tasks: { store: 'memory' },
        state_key: 'the key of all states, 32 bytes or more',
        auth: { tokens, jwt: { issuer: url, jwks: `${url}/keys`, audience: AUDIENCE, owner_claim: 'preferred_username', scope_claim: 'scope' }, open: [] },
        push: { allow: ['127.0.0.1'] },
        ...more
      },
      vac: { [VAC]: { display_name: 'First', memory }, [OTHER_VAC]: { display_name: 'Second', memory } }
    })
    const service = new Service(folder, grpcPort, issuer, config)
    for (const { name, owner = 'alice', scopes, by } of [...CALLERS, ...CALLERS.map(twinOf)]) {
      if (by !== 'jwt' && by !== 'expired') continue
      const exp = Math.floor(Date.now() / 1000) + (by === 'jwt' ? 3_600 : -EXPIRED_FOR)
      const token = await new SignJWT({ iss: url, aud: AUDIENCE, sub: 's', preferred_username: owner, scope: scopes?.join(' ') ?? 'admin', exp }).setProtectedHeader({ alg: 'ES256', kid: 'k' }).sign(privateKey)
      service.#authorizations.set(name, `Bearer ${token}`)
    }
    await service.write(true)
    return service
  }

  get configFile (): string { return join(this.folder, 'vac_config.yaml') }

  /** Writes the configuration, with or without the token that is removed. */
  async write (withRemoved: boolean): Promise<void> {
    await writeFile(this.configFile, JSON.stringify(this.#config(withRemoved ? [...this.#tokens, this.#removed] : this.#tokens)))
  }

  /** The header Authorization of a caller; undefined for the one without a credential. */
  authorizationOf ({ name }: Pick<Caller, 'name'>): string | undefined { return this.#authorizations.get(name) }

  async close (): Promise<void> {
    this.#issuer.closeAllConnections()
    this.#issuer.close()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
