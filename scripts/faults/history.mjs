// Checks a history, what the clients of a service saw, against the guarantees G1 to G7. Pure: it reads entries only.
// G8 promises nothing (side effects of interpreters), and G9 is about the file of SQLite, which attacks check.
//
// An entry is one of these; `body` is the text that was received, so that two readers can be compared byte for byte:
//   created     task, key: a create that was acknowledged, with its idempotency key
//   executed    task, question, attempt: the interpreter began
//   subscribed  task, subscriber, after: a reader of the log, over all its connections; `after` is its Last-Event-ID
//   event       task, subscriber, seq, state, delta, retry, writers, body: `state` is that of the record after it,
//               `retry` the number of an attempt that begins, `writers` the attempts that wrote `delta`
//   read        task, state, text, body: the record that the service returned; without a state, the service answered
//               that the task does not exist.
//               `text` is the message that the agent streamed, undefined for a skill that does not stream
//   canceled    task: a cancel that was acknowledged
//   hooked      task, config: a webhook for all events of the task
//   webhook     task, config, id, body: a delivery that was accepted

const TERMINAL = ['completed', 'failed', 'canceled', 'rejected']
const isTerminal = state => TERMINAL.includes(state)

/** What guarantee a problem breaks, and whether something was lost or came twice. */
const PROBLEMS = {
  lost: { guarantee: 'G1', lost: true },
  unended: { guarantee: 'G1', lost: true },
  attempts: { guarantee: 'G2' },
  changed: { guarantee: 'G3' },
  afterEnd: { guarantee: 'G3' },
  fenced: { guarantee: 'G3' },
  gap: { guarantee: 'G4', lost: true },
  repeated: { guarantee: 'G4', duplicated: true },
  differs: { guarantee: 'G4' },
  text: { guarantee: 'G4', lost: true },
  uncanceled: { guarantee: 'G5' },
  twoTasks: { guarantee: 'G6', duplicated: true },
  twoRuns: { guarantee: 'G6', duplicated: true },
  unnotified: { guarantee: 'G7', lost: true },
  order: { guarantee: 'G7' },
  webhookId: { guarantee: 'G7' },
  forged: { guarantee: 'G7' }
}

/**
 * The verdict on a history whose tasks all had the time to end.
 * @param retries attempts beyond the first that may be lost before a task fails
 * @returns `{ problems, tasks, events, webhooks, lost, duplicated }`; a problem is `{ name, guarantee, task, text }`
 */
export function checkHistory (history, { retries = 3 } = {}) {
  const problems = []
  const note = (name, task, text) => problems.push({ name, task, text, ...PROBLEMS[name] })
  const byTask = groupBy(history.filter(({ task }) => task !== undefined), ({ task }) => task)
  for (const [key, created] of groupBy(history.filter(({ kind }) => kind === 'created'), ({ key }) => key)) {
    const ids = new Set(created.map(({ task }) => task))
    if (ids.size > 1) note('twoTasks', [...ids][0], `the key ${key} made ${ids.size} tasks`)
  }
  for (const [task, entries] of byTask) checkTask(entries, { retries, note: (name, text) => note(name, task, text) })
  const count = wanted => history.filter(({ kind }) => kind === wanted).length
  return {
    problems,
    tasks: new Set(history.filter(({ kind }) => kind === 'created').map(({ task }) => task)).size,
    events: count('event'),
    webhooks: count('webhook'),
    lost: problems.filter(({ lost }) => lost).length,
    duplicated: problems.filter(({ duplicated }) => duplicated).length
  }
}

function checkTask (entries, { retries, note }) {
  const of = kind => entries.filter(entry => entry.kind === kind)
  const reads = of('read')
  const events = of('event')
  const final = reads.at(-1)
  if (of('created').length > 0 && final?.state === undefined) note('lost', 'it was acknowledged, and is not there')
  else if (of('created').length > 0 && !isTerminal(final.state)) note('unended', `it is ${final.state}`)

  checkExecutions(of('executed'), { retries, note })

  const firstEnd = reads.findIndex(({ state }) => isTerminal(state))
  if (firstEnd >= 0 && reads.slice(firstEnd).some(({ body }) => body !== reads[firstEnd].body)) note('changed', 'its record changed after its end')

  for (const { subscriber, after } of of('subscribed')) {
    checkReader(events.filter(event => event.subscriber === subscriber), { subscriber, after, note })
  }
  const log = logOf(events, note)
  checkLog(log, { final, note })
  if (of('canceled').length > 0 && final !== undefined && final.state !== 'canceled') note('uncanceled', `its cancel was acknowledged, and it is ${final.state}`)
  for (const { config } of of('hooked')) checkWebhooks(of('webhook').filter(webhook => webhook.config === config), { config, log, note })
}

function checkExecutions (executed, { retries, note }) {
  for (const [question, runs] of groupBy(executed, ({ question }) => question)) {
    const attempts = runs.map(({ attempt }) => attempt)
    if (new Set(attempts).size < attempts.length) note('twoRuns', `${JSON.stringify(question)} ran as attempts ${attempts.join(', ')}`)
    if (attempts.length > retries + 1) note('attempts', `${attempts.length} attempts`)
  }
}

/** One reader: numbers without a gap and without a duplicate, to the end of the task. */
function checkReader (events, { subscriber, after, note }) {
  let last = after
  for (const { seq } of events) {
    if (seq <= last) note('repeated', `subscriber ${subscriber} got event ${seq} after ${last}`)
    else if (seq > last + 1) note('gap', `subscriber ${subscriber} got event ${seq} after ${last}`)
    last = Math.max(last, seq)
  }
  if (!isTerminal(events.at(-1)?.state)) note('gap', `subscriber ${subscriber} got no end after event ${last}`)
}

/** The log as all readers together saw it, by number: the same event is the same for each of them. */
function logOf (events, note) {
  const log = new Map()
  for (const event of events) {
    const { seq, subscriber, body } = event
    if (!log.has(seq)) log.set(seq, event)
    else if (log.get(seq).body !== body) note('differs', `event ${seq} differs for the subscribers ${log.get(seq).subscriber} and ${subscriber}`)
  }
  return [...log.values()].sort((a, b) => a.seq - b.seq)
}

/** One end, nothing after it, and no text of an attempt that was replaced. The text is that of the record. */
function checkLog (log, { final, note }) {
  let text = ''
  let attempt = 0
  let before
  for (const { seq, state, delta = '', retry, writers = [] } of log) {
    if (isTerminal(before)) note('afterEnd', `event ${seq} follows the end`)
    if (retry !== undefined) attempt = retry
    else if (state === 'submitted') attempt = 0
    text = retry !== undefined || state === 'submitted' ? delta : text + delta
    if (writers.some(writer => writer !== attempt)) note('fenced', `event ${seq} of attempt ${attempt} has text of attempt ${writers.join(', ')}`)
    before = state
  }
  if (log.length === 0 || final?.state === undefined) return
  if (before !== final.state && isTerminal(before)) note('changed', `its log ends as ${before}, its record is ${final.state}`)
  if (final.text !== undefined && final.text !== text) note('text', `the assembled text has ${text.length} characters, the record ${final.text.length}, or they differ`)
}

/** At least once, first arrivals in the order of the log, one id for each event. */
function checkWebhooks (webhooks, { config, log, note }) {
  const seqs = new Map(log.map(({ body, seq }) => [body, seq]))
  const ids = new Map()
  const arrived = new Map()
  let last = 0
  for (const { id, body } of webhooks) {
    const seq = seqs.get(body)
    if (seq === undefined) {
      if (log.length > 0) note('forged', `${config} got ${id}, which is not an event of the log`)
      continue
    }
    if ((arrived.get(seq) ?? id) !== id || (ids.get(id) ?? seq) !== seq) note('webhookId', `${config} got event ${seq} with the id ${id}, which is not its own`)
    if (!arrived.has(seq) && seq < last) note('order', `${config} got event ${seq} after ${last}`)
    arrived.set(seq, id)
    ids.set(id, seq)
    last = Math.max(last, seq)
  }
  for (const [i, { seq, state }] of log.entries()) {
    if (state !== log[i - 1]?.state && !arrived.has(seq)) note('unnotified', `${config} did not get event ${seq}, ${state}`)
  }
}

function groupBy (list, keyOf) {
  const groups = new Map()
  for (const item of list) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
