// In the place of a language model, for the test: it calls four tools at once, or cancels an order, and answers from
// the results.
import { once } from 'node:events'
import { createServer } from 'node:http'

const CALLS = [
  ['price', { tea: 'green', grams: 200 }],
  ['orders__read_text_file', { path: '7.txt' }],
  ['numbers__get-sum', { a: 13, b: 4 }],
  ['post', { message: 'What does a parcel of 200 g cost?' }]
]

/** @returns its address, the requests that it got, and `close` */
export async function startModel () {
  const requests = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const { messages, tools = [] } = JSON.parse(text)
    requests.push({ messages, tools })
    const isCancelling = String(messages.findLast(({ role }) => role === 'user').content).includes('Cancel')
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content.split('\n')[1])
    const delta = results.length > 0
      ? { content: isCancelling ? results[0] : `Two minutes [1]. It is ${results[0]}. ${results[3]} ${results[2]} ${results[1]}` }
      : { tool_calls: (isCancelling ? [['cancel_order', { order: 7 }]] : CALLS).map(([name, args], index) => ({ index, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } })) }
    const event = choice => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${event({ delta })}${event({ delta: {}, finish_reason: results.length > 0 ? 'stop' : 'tool_calls' })}data: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests, close }
}
