import { createRequire } from 'node:module'
import { join } from 'node:path'

/** `require` of this package. A CommonJS bundle has no URL: there the packages of the working folder are found. */
export function packageRequire (): NodeJS.Require {
  return createRequire((import.meta.url as string | undefined) ?? join(process.cwd(), 'index.js'))
}
