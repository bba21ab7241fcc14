// Asks the agent over each protocol and compares the answers, their sources and the calls of tools. Then it cancels an
// order over each of them, once the customer agrees.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { delimiter, join, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ask } from '@polyvac/client'
import { createHost } from '@polyvac/host'
import { startModel } from './model.mjs'

const QUESTION = 'How long does green tea brew, what do 200 g cost with postage, and is order 7 sent?'
const TEXT = 'Two minutes [1]. It is 13.00 €. A parcel of 200 g costs 4 € and takes two days. The sum of 13 and 4 is 17. Order 7: 200 g of green tea. Sent on Monday.'
const CALLS = ['numbers__get-sum', 'orders__read_text_file', 'post', 'price']
/** Chat completions and responses have no calls of tools that the service made. */
const WITHOUT_CALLS = ['openai', 'responses']

/** The whole text of an answer, and its question if it asks back. */
async function last (protocol, question) {
  let text = ''
  let input
  for await (const update of ask(protocol, { vac: 'shop', ...question })) {
    text = update.text ?? text + (update.delta ?? '')
    input = update.input ?? input
  }
  return { text, input }
}

const model = await startModel()
const modules = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json').split(`${sep}@modelcontextprotocol${sep}`)[0]
const post = await createHost({ config: join(import.meta.dirname, 'post', 'vac_config.yaml'), server: { logger: false, forceCloseConnections: true } })
Object.assign(process.env, { MODEL_URL: model.url, POST_URL: await post.listen({ host: '127.0.0.1', port: 0 }), MODEL_NAME: 'm', PATH: `${join(modules, '.bin')}${delimiter}${process.env.PATH}` })
const app = await createHost({
  config: join(import.meta.dirname, 'vac_config.yaml'), tasks: { store: 'memory' }, watchDocuments: false, server: { logger: false, forceCloseConnections: true }
})
try {
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  // the MCP servers start with the service, which also reads the card of the other agent
  while ((await (await fetch(`${base}/ready`)).json()).reasons?.length > 0) await delay(50)

  for (const protocol of ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp']) {
    let text = ''
    let sources = []
    const calls = []
    for await (const update of ask(protocol, { base, vac: 'shop', text: QUESTION, steps: true })) {
      text = update.text ?? text + (update.delta ?? '')
      sources = update.sources ?? sources
      const { tool_call: call } = update.step ?? {}
      if (call !== undefined) calls.push(call.server === undefined ? call.name : `${call.server}__${call.name}`)
    }
    assert.equal(text, TEXT, protocol)
    assert.deepEqual(sources.map(({ metadata }) => metadata.source), ['tea.md'], protocol)
    assert.deepEqual(calls.sort(), WITHOUT_CALLS.includes(protocol) ? [] : CALLS, protocol)

    const asked = await last(protocol, { base, text: 'Cancel order 7' })
    assert.match(asked.text, /^May the tool "cancel_order" be called with this input\?/, protocol)
    const history = [{ role: 'user', content: 'Cancel order 7' }, { role: 'assistant', content: asked.text }]
    const agreed = await last(protocol, { base, text: 'yes', history, ...asked.input !== undefined && { reply: asked.input } })
    assert.equal(agreed.text, 'Order 7 is cancelled.', protocol)
  }

  const [{ messages: [system], tools }] = model.requests
  assert.match(system.content, /^You help the customers of a tea shop\./)
  assert.deepEqual(tools.map(({ function: { name } }) => name).sort(), ['ask_user', 'cancel_order', 'numbers__get-sum', 'orders__list_directory', 'orders__read_text_file', 'post', 'price', 'search_documents'])
} finally {
  await app.close()
  await post.close()
  model.close()
}
