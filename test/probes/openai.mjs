import { eventsOf, jsonOf } from './events.mjs'

const form = more => (text, model) => ({ path: '/openai/v1/chat/completions', body: { model, messages: [{ role: 'user', content: text }], ...more } })
const piecesOf = body => eventsOf(body).map(({ data }) => data.choices?.[0]?.delta.content ?? '').join('')

export const openai = {
  ask: { whole: form() },
  stream: { events: form({ stream: true }), 'events with usage': form({ stream: true, stream_options: { include_usage: true } }) },
  textOf: body => jsonOf(body) === undefined ? piecesOf(body) : jsonOf(body).choices?.[0]?.message.content,
  piecesOf,
  withSteps: ({ body, ...request }) => ({ ...request, body: { ...body, steps: true } }),
  stepsOf (body) {
    const deltas = jsonOf(body) === undefined ? eventsOf(body).flatMap(({ data }) => data.choices?.[0]?.delta ?? []) : [jsonOf(body).choices[0].message]
    return deltas.flatMap(({ reasoning_content: reasoning }) => reasoning === undefined ? [] : [{ reasoning }])
  },
  errorOf: body => (jsonOf(body) ?? eventsOf(body).find(({ data }) => data.error !== undefined)?.data)?.error,
  usageOf: body => (jsonOf(body) ?? eventsOf(body).findLast(({ data }) => data.usage !== undefined)?.data)?.usage
}
