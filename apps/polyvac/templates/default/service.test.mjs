// `npm test` asks the service in this process, without a port.
import { createHost } from '@polyvac/host'
import assert from 'node:assert/strict'
import { test } from 'node:test'

test('the service answers from its documents', async () => {
  const app = await createHost({ config: 'vac_config.yaml', tasks: { store: 'memory' }, server: { logger: false } })
  try {
    const response = await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: 'How do I start?' } })
    assert.equal(response.statusCode, 200, response.body)
    const { answer, source_documents: sources } = response.json()
    assert.match(answer, /npm start/)
    assert.equal(sources[0].metadata.source, 'welcome.md')
  } finally {
    await app.close()
  }
})
