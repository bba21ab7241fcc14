import { packageVersion } from '@polyvac/core/plugin'

export const version = packageVersion(import.meta.url)
