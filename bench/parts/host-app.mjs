import { createHost } from '../../apps/host/dist/index.js'

/** The host with its defaults, whose log lines go to a file that keeps nothing. */
export async function hostApp () {
  return await createHost({ vacs: ['instant'], stream_interpreter: (await import('./interpreters.mjs')).instant, server: { logger: { level: 'info', file: '/dev/null' } } })
}
