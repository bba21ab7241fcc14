import { createError } from '@polyvac/core/plugin'

export const InvalidOptionsError = createError<[string]>('PLAYGROUND_OPTIONS', '%s', 500)
export const PageMissingError = createError<[string]>('PLAYGROUND_PAGE_MISSING',
  'the page of the playground is not built: %s does not exist; run `npm run build` in a clone, or install the package again', 500)
