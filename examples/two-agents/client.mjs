// Asks the writer, and prints the answer while it arrives.
import { askAgent } from './ask-agent.mjs'

const [url = 'http://127.0.0.1:8080', question = 'What is there about tea?'] = process.argv.slice(2)
for await (const text of askAgent(url, question, { signal: new AbortController().signal })) process.stdout.write(text)
process.stdout.write('\n')
