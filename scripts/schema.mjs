// Writes the JSON Schema that editors use for vac_config.yaml, from the TypeBox schema that checks it.
import { writeFileSync } from 'node:fs'
import { HostConfigFile } from '@polyvac/host'

export const schemaText = `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...HostConfigFile }, null, 2)}\n`

if (process.argv[1] === import.meta.filename) {
  writeFileSync(new URL('../apps/host/vac_config.schema.json', import.meta.url), schemaText)
}
