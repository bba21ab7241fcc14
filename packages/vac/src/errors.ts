import createError from '@fastify/error'

export const UnauthenticatedError = createError('UNAUTHENTICATED',
  'this service does not know the caller; send credentials, such as Authorization: Bearer …', 401)
export const InvalidOptionsError = createError<[string]>('VAC_PLUGIN_OPTIONS', '%s', 500)
