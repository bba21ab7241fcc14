// The interpreter of the replicas. It writes a line for each execution, and its text names the attempt that wrote it.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * `words <count> <ms>`: words with pauses; `same <count> <ms>`: words that each attempt repeats; `ask`: asks back;
 * `poison`: ends the process; `relay <question>`: asks the agent `peer` twice at once.
 */
export async function * stream_interpreter (question, name, history, { signal, taskId, runId, attempt = 0, callAgent }) {
  if (runId !== undefined) appendFileSync(process.env.FAULTS_LOG, `${JSON.stringify({ kind: 'answered', run: runId, pid: process.pid, attempt, question, earlier: history.filter(({ role }) => role === 'user').map(({ content }) => content) })}\n`)
  if (taskId !== undefined) appendFileSync(process.env.FAULTS_LOG, `${JSON.stringify({ kind: 'executed', task: taskId, question, attempt })}\n`)
  const [what, count = 0, ms = 0] = question.split(' ').map((word, i) => i === 0 ? word : Number(word))
  if (what === 'poison') process.kill(process.pid, 'SIGKILL')
  if (what === 'ask' && history.length === 0) return { input_required: 'Which one?' }
  if (what === 'relay') {
    const asked = question.slice('relay '.length)
    const answers = await Promise.all([callAgent('peer', asked, { signal }), callAgent('peer', asked, { signal })])
    return { answer: answers.map(({ answer }) => answer).join('') }
  }
  if (what !== 'words' && what !== 'same') return { answer: `heard: ${question}` }
  for (let i = 0; i < count; i++) {
    yield what === 'same' ? `word ${i} ` : `a${attempt} word ${i} `
    if (ms > 0) await delay(ms, undefined, { signal })
  }
}
