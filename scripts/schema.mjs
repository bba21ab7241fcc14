// Writes the JSON Schema that editors use for vac_config.yaml, from the TypeBox schema that checks it.
import { writeFileSync } from 'node:fs'
import { VacConfigFile } from '@polyvac/core'

export const schemaText = `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...VacConfigFile }, null, 2)}\n`

if (process.argv[1] === import.meta.filename) {
  writeFileSync(new URL('../apps/host/vac_config.schema.json', import.meta.url), schemaText)
}
