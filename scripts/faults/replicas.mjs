// Replicas of one service: host processes that share a database, behind a load balancer without affinity.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, startHost } from '../attack/host.mjs'
import { Relay } from './relay.mjs'

const AGENT = readFileSync(new URL('./agent.mjs', import.meta.url), 'utf8')

/** A configuration of the agents and MCP for a load, with `tasks` as the store. */
export const configuration = (tasks, service = {}) => ({
  kind: 'vacConfig',
  service: { stream_interpreter: './agent.mjs', enable_a2a_agent: true, enable_mcp_server: true, push: { allow: ['127.0.0.1'] }, tasks, ...service },
  vac: { demo: { display_name: 'Demo' } }
})

/** The store on PostgreSQL; each replica has the address of its relay. */
export const ON_POSTGRES = { store: 'postgres', url: '${DATABASE_URL}' } // eslint-disable-line no-template-curly-in-string

export class Replicas {
  replicas = []
  #options
  #isOpen = true

  /**
   * @param count of processes
   * @param databaseUrl of the database; each replica reaches it through a separate relay, `replica.network`
   * @param tasks the store
   * @param filter of the relays to the database
   * @param revive whether a new process replaces one that was killed
   */
  static async start ({ count = 3, databaseUrl, tasks = ON_POSTGRES, env = {}, service, revive = false, filter }) {
    const all = new Replicas()
    const folder = folderOf({ 'vac_config.yaml': configuration(tasks, service), 'agent.mjs': AGENT })
    all.#options = { folder, env: { ...env, FAULTS_LOG: join(folder, 'executed.jsonl'), POLYVAC_STATE_KEY: 'a key of all replicas, 32 bytes long' }, revive }
    try {
      all.replicas = await Promise.all(Array.from({ length: count }, async () => {
        const replica = { starts: 0, isWanted: true }
        if (databaseUrl !== undefined) {
          const { port } = new URL(databaseUrl)
          replica.network = await Relay.start(() => [Number(port)], { filter })
          const own = new URL(databaseUrl)
          own.port = String(replica.network.port)
          replica.databaseUrl = own.href
        }
        return replica
      }))
      await Promise.all(all.replicas.map(replica => all.startReplica(replica)))
      all.balancer = await Relay.start(() => all.replicas.flatMap(({ host }) => host?.alive ? [host.port] : []), { checks: true })
      return all
    } catch (err) {
      await all.close()
      throw err
    }
  }

  get url () { return this.balancer.url }

  async startReplica (replica, more = {}) {
    const { folder, env, revive } = this.#options
    replica.isWanted = true
    replica.starts++
    const host = await startHost({ cwd: folder, env: { ...env, ...more, DATABASE_URL: replica.databaseUrl } })
    replica.host = host
    host.ended.then(() => { if (revive && this.#isOpen && replica.isWanted && replica.host === host) this.startReplica(replica).catch(() => {}) })
  }

  /** SIGTERM, as an orchestrator does, and a new process. Resolves to how the old one ended. */
  async restart (replica, env) {
    replica.isWanted = false
    const end = await replica.host.stop()
    await this.startReplica(replica, env)
    return end
  }

  /** What the interpreters wrote: an entry `executed` for each execution. */
  executed () {
    try {
      return readFileSync(this.#options.env.FAULTS_LOG, 'utf8').split('\n').flatMap(line => line === '' ? [] : [JSON.parse(line)])
    } catch {
      return []
    }
  }

  async close () {
    this.#isOpen = false
    await this.balancer?.close()
    for (const { host } of this.replicas) host?.kill()
    await Promise.all(this.replicas.map(async ({ host, network }) => { await host?.ended; await network?.close() }))
  }
}
