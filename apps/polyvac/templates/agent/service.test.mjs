// `npm test` asks the service in this process. A server of this test stands for the model: it calls `price` first.
import { createHost } from '@polyvac/host'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'

test('the agent calls its function, and cites its documents', async () => {
  const model = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { role, content } = JSON.parse(text).messages.at(-1)
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'price', arguments: '{"tea":"green","grams":200}' } }
    const delta = role === 'tool' ? { content: `It brews for two minutes [1]. It is ${/[\d.]+ €/.exec(content)?.[0]}.` } : { tool_calls: [call] }
    const chunk = choice => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chunk({ delta })}${chunk({ delta: {}, finish_reason: role === 'tool' ? 'stop' : 'tool_calls' })}data: [DONE]\n\n`)
  })
  await new Promise(resolve => { model.listen(0, '127.0.0.1', resolve) })
  Object.assign(process.env, { MODEL_NAME: 'm', MODEL_URL: `http://127.0.0.1:${model.address().port}/v1` })
  const app = await createHost({ config: 'vac_config.yaml', tasks: { store: 'memory' }, server: { logger: false } })
  try {
    const response = await app.inject({ method: 'POST', url: '/vac/assistant', payload: { user_input: 'How long does green tea brew, and what do 200 g cost?' } })
    const { answer, source_documents: [source] } = response.json()
    assert.equal(answer, 'It brews for two minutes [1]. It is 13.00 €.', response.body)
    assert.equal(source.metadata.source, 'welcome.md')
  } finally {
    await app.close()
    model.closeAllConnections()
    model.close()
  }
})
