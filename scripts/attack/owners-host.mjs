// A program with two owners, as an application writes it: the header Authorization names them.
import { createHost, readConfig } from '@polyvac/host'

const config = await readConfig('vac_config.yaml')
const app = await createHost({ config, authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: headers.authorization }, server: { logger: { level: 'warn', stream: process.stderr } } })
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
