// `wait` waits until its call is stopped, `pause` too, after a word; `ask` asks back; other questions are answered.
export async function * stream_interpreter (question, name, history, { signal }) {
  if (question === 'pause') yield 'well '
  if (/wait|pause/.test(question)) await new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  if (question === 'ask' && history.length === 0) return { input_required: 'Which one?' }
  yield `heard ${question}`
}
