import { migrateDatabase, toSettings } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { loadConfig } from '../load-config.js'
import { loggerFor } from '../logger.js'
import { toPlainLines } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import Fastify from 'fastify'

/** `polyvac migrate`: creates or updates the tables, for services whose user may not. Does not wait for a database. */
export async function migrate (args: Arguments): Promise<void> {
  const config = await loadConfig(args)
  const { tasks = {} } = toSettings(environmentOptions(config), config).switches
  const { log } = Fastify({ logger: loggerFor(args) })
  process.stdout.write(toPlainLines(`the tables of the tasks are up to date: ${await migrateDatabase(tasks, log)}\n`))
}
