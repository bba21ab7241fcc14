import { eventsOf, jsonOf } from './events.mjs'

const question = text => ({ user_input: text })
const streamed = accept => (text, vac) => ({ path: `/vac/streaming/${vac}`, body: question(text), headers: { accept } })
const lastLine = body => jsonOf(body.trimEnd().split('\n').at(-1))
const last = body => jsonOf(body) ?? (body.includes('data: ') ? eventsOf(body).findLast(({ data }) => data !== '[DONE]')?.data : lastLine(body))

export const direct = {
  ask: {
    whole: (text, vac) => ({ path: `/vac/${vac}`, body: question(text) }),
    text: streamed('text/plain'),
    lines: streamed('application/x-ndjson'),
    events: (text, vac) => ({ path: `/vac/streaming/${vac}/sse`, body: question(text) })
  },
  textOf: body => last(body)?.answer,
  errorOf: body => last(body)?.error
}
