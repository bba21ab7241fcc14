// The interpreter of the hosts that are attacked. The first word of the question names what it does.
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'

export async function * stream_interpreter (question, name, history, { signal, callTool }) {
  const [what, size = 0, ms = 0] = question.split(' ').map((word, i) => i === 0 ? word : Number(word))
  if (what === 'large') return { answer: 'x'.repeat(size) }
  if (what === 'wait') {
    await delay(size, undefined, { signal })
    return { answer: 'done' }
  }
  if (what === 'call') return { answer: JSON.stringify((await callTool('upstream', 'echo', { message: 'hello' }, { signal })).content) }
  if (what === 'flow') {
    for (let i = 0; i < size; i++) {
      yield 'word '.repeat(200)
      await (ms > 0 ? delay(ms, undefined, { signal }) : turn(undefined, { signal }))
    }
    return
  }
  if ({}.polluted !== undefined) yield 'the prototype of objects is polluted'
  yield `heard: ${question.slice(0, 100)}`
}
