import type { FastifyServerOptions } from 'fastify'
import { fileURLToPath } from 'node:url'
import type { Arguments } from './arguments.js'
import type { CommandIo } from './command-io.js'

/**
 * JSON log lines on standard error, so that standard output has only the banner and answers. On a terminal, lines for
 * people, only of warnings and errors, since the banner has the rest.
 */
export function loggerFor ({ logLevel, pretty, json }: Pick<Arguments, 'logLevel' | 'pretty' | 'json'>, { stderr }: Pick<CommandIo, 'stderr'>):
NonNullable<FastifyServerOptions['logger']> {
  const forPeople = !json && (pretty ?? stderr.isTTY === true)
  const level = logLevel ?? (forPeople ? 'warn' : 'info')
  const redact = ['req.headers.authorization', 'req.headers.cookie', 'headers.authorization', 'headers.cookie']
  if (!forPeople) return { level, redact, stream: stderr }
  // by its path: pino would look for the name from the package that creates the app
  const target = fileURLToPath(import.meta.resolve('pino-pretty'))
  const options = { destination: 2, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }
  return { level, redact, transport: { target, options } }
}
