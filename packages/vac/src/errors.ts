import createError from '@fastify/error'

export const InvalidOptionsError = createError<[string]>('VAC_PLUGIN_OPTIONS', '%s', 500)
