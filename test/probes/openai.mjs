import { eventsOf, jsonOf } from './events.mjs'

const path = '/openai/v1/chat/completions'
const question = (text, model) => ({ model, messages: [{ role: 'user', content: text }] })

export const openai = {
  ask: {
    whole: (text, vac) => ({ path, body: question(text, vac) }),
    events: (text, vac) => ({ path, body: { ...question(text, vac), stream: true } })
  },
  textOf (body) {
    const whole = jsonOf(body)
    if (whole !== undefined) return whole.choices?.[0]?.message.content
    return eventsOf(body).map(({ data }) => data.choices?.[0]?.delta.content ?? '').join('')
  },
  errorOf: body => (jsonOf(body) ?? eventsOf(body).find(({ data }) => data.error !== undefined)?.data)?.error
}
