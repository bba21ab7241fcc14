import type { FastifyServerOptions } from 'fastify'
import type { Arguments } from './arguments.js'

/**
 * Log lines for programs, on standard error, so that standard output holds the banner and answers alone; on a terminal
 * lines for people, and only warnings, since the banner says the rest.
 */
export function loggerFor ({ logLevel, pretty, json }: Pick<Arguments, 'logLevel' | 'pretty' | 'json'>): NonNullable<FastifyServerOptions['logger']> {
  const forPeople = !json && (pretty ?? process.stderr.isTTY === true)
  const level = logLevel ?? (forPeople ? 'warn' : 'info')
  const redact = ['req.headers.authorization', 'req.headers.cookie', 'headers.authorization', 'headers.cookie']
  if (!forPeople) return { level, redact, stream: process.stderr }
  return { level, redact, transport: { target: 'pino-pretty', options: { destination: 2, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } } }
}
