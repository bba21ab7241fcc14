// `npm test` asks the service in this process. A server in this test stands for the model: it repeats the last message.
import { createHost } from '@polyvac/host'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'

test('the agent answers with what its model writes', async () => {
  const model = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { messages } = JSON.parse(text)
    const chunk = delta => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [delta] })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ index: 0, delta: { role: 'assistant', content: `You asked: ${messages.at(-1).content}` } }))
    response.end(`${chunk({ index: 0, delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`)
  })
  await new Promise(resolve => { model.listen(0, '127.0.0.1', resolve) })
  process.env.MODEL_URL = `http://127.0.0.1:${model.address().port}/v1`
  const app = await createHost({ config: 'vac_config.yaml', tasks: { store: 'memory' }, server: { logger: false } })
  try {
    const response = await app.inject({ method: 'POST', url: '/vac/assistant', payload: { user_input: 'Is it on?' } })
    assert.equal(response.json().answer, 'You asked: Is it on?', response.body)
  } finally {
    await app.close()
    model.closeAllConnections()
    model.close()
  }
})
