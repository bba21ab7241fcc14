// Two agents on two ports: the writer asks the librarian for facts and puts them into a sentence.
import { setTimeout as delay } from 'node:timers/promises'
import { host } from './agent.mjs'
import { askAgent } from './ask-agent.mjs'

const FACTS = { tea: 'Green tea is brewed for two minutes.', coffee: 'Coffee is ground before it is brewed.' }

const librarian = await host('librarian', { display_name: 'Librarian', description: 'Knows facts.' }, async function * (question, vac, history, { signal }) {
  const [, fact = 'There is nothing in the books.'] = Object.entries(FACTS).find(([word]) => question.includes(word)) ?? []
  for (const word of fact.split(/(?<= )/)) {
    await delay(20, undefined, { signal })
    yield word
  }
})

const writer = await host('writer', { display_name: 'Writer', description: 'Writes with the facts of another agent.' }, async function * (question, vac, history, extra) {
  yield 'The books say: '
  yield * askAgent(librarian.url, question, extra)
}, Number(process.env.PORT ?? 8080))

process.stdout.write(`librarian at ${librarian.url}\nlistening on ${writer.url}\n`)
process.once('SIGTERM', async () => {
  await writer.close()
  await librarian.close()
})
