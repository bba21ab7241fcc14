// `npm test` asks the service in this process, without a port.
import { createHost } from '@polyvac/host'
import assert from 'node:assert/strict'
import { test } from 'node:test'

test('the assistant answers', async () => {
  const app = await createHost({ config: 'vac_config.yaml', tasks: { store: 'memory' }, server: { logger: false } })
  try {
    const response = await app.inject({ method: 'POST', url: '/vac/assistant', payload: { user_input: 'Is it on?' } })
    assert.equal(response.json<{ answer: string }>().answer, 'My assistant got your question: "Is it on?"', response.body)
  } finally {
    await app.close()
  }
})
