import { createError } from '@polyvac/core/plugin'

export const InvalidOptionsError = createError<[string]>('VAC_PLUGIN_OPTIONS', '%s', 500)
