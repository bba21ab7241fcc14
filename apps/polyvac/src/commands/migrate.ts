import { migrateDatabase, toSettings } from '@polyvac/host/command'
import { environmentOptions } from '../environment.js'
import { loadConfig } from '../load-config.js'
import { loggerFor } from '../logger.js'
import { toPlainLines } from '../terminal.js'
import type { Arguments } from '../arguments.js'
import Fastify from 'fastify'
import type { CommandIo } from '../command-io.js'

/** `polyvac migrate`: creates or updates the tables, for services whose user may not. Does not wait for a database. */
export async function migrate (args: Arguments, io: CommandIo): Promise<void> {
  const config = await loadConfig(args, io)
  const { tasks = {} } = toSettings(environmentOptions(config, io.env), config).switches
  const { log } = Fastify({ logger: loggerFor(args, io) })
  io.stdout.write(toPlainLines(`the tables of the tasks are up to date: ${await migrateDatabase(tasks, log)}\n`))
}
