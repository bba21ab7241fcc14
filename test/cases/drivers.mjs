// The drivers by the file name of their case, and the other files of the folders.
import { calls } from './calls.mjs'
import { configurations } from './configurations.mjs'
import { documentsOfTools } from './documents-of-tools.mjs'
import { lists } from './lists.mjs'
import { lives } from './lives.mjs'
import { results } from './results.mjs'

export const drivers = { ...calls, ...configurations, ...documentsOfTools, ...lists, ...lives, ...results }

/** Packages that a script imports and the repository does not have. */
export const packagesOf = {
  '17-zod-swagger.mjs': ['fastify-type-provider-zod@7.0.0', '@fastify/swagger@9.9.3', 'fastify@5.12.8', 'zod@4.6.7', 'openapi-types@12.1.3'],
  '32-holds-lambda.mjs': ['@fastify/aws-lambda@6.4.1']
}

/** Files that belong to a case, and are none. */
export const companions = /^(?:_.*|README\.md|EXPECTED|.*\.txt|01-openapi-as-served\.json)$/
