// The interpreter of the hosts that are attacked. The first word of the question names what it does.
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'

/** Answers that no interpreter should give, and errors that no call owns. */
const WRONG = {
  stray () { setTimeout(() => { throw new Error('stray') }) },
  rejection () { Promise.reject(new Error('forgotten')) },
  strayUndefined () { setTimeout(() => { throw undefined }) }, // eslint-disable-line no-throw-literal
  throwNull () { throw null }, // eslint-disable-line no-throw-literal
  throwPath () { throw new Error(`failed in ${import.meta.url}`) },
  circular () { const answer = { answer: 'a' }; answer.self = answer; return answer },
  bigint: () => ({ answer: 'a', source_documents: [], metadata: { n: 1n } }),
  getter: () => ({ get answer () { throw new Error('getter') } }),
  toJson: () => ({ answer: 'a', metadata: { toJSON () { throw new Error('toJSON') } } }),
  number: () => 7,
  symbol: () => ({ answer: Symbol('a') }),
  deep () { let deep = {}; for (let i = 0; i < 100_000; i++) deep = { deep }; return { answer: 'a', metadata: deep } },
  proxy: () => new Proxy({}, { get () { throw new Error('proxy') } })
}

export async function * stream_interpreter (question, name, history, { signal, callTool }) {
  const [what, size = 0, ms = 0] = question.split(' ').map((word, i) => i === 0 ? word : Number(word))
  if (what === 'large') return { answer: 'x'.repeat(size) }
  if (what === 'wait') {
    await delay(size, undefined, { signal })
    return { answer: 'done' }
  }
  if (what === 'call') return { answer: JSON.stringify((await callTool('upstream', 'echo', { message: 'hello' }, { signal })).content) }
  if (Object.hasOwn(WRONG, what)) return WRONG[what]()
  if (what === 'chunk') yield 'x'.repeat(size)
  if (what === 'tiny') for (let i = 0; i < size; i++) yield 'x'
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
