import { OTHER_VAC, VAC } from '../callers.js'
import { rowsOf, type Row, type State } from '../row.js'

const question = { user_input: 'hello' }
const turns = [{ question: 'moved here', answer: 'yes' }]
const all = `/vac/${VAC}/conversations`
const at = (path: string, more: object = {}) => (id: string) => ({ method: 'GET', path: `${all}/${id}${path}`, ...more })
const rename = { method: 'PATCH', body: { title: 'renamed' } }
/** What a row about a thing without states changes. */
const changes: readonly State[] = ['completed']

/** Conversations by id: of the service, and under ids that callers make. */
export const conversationRows: readonly Row[] = rowsOf({ protocol: 'conversations', thing: 'storedConversation' }, [
  { route: 'GET /vac/:vector_name/conversations', kind: 'list', make: () => ({ method: 'GET', path: `${all}?limit=100` }) },
  { route: 'GET /vac/:vector_name/conversations', about: 'name of the VAC', thing: 'vac', make: name => ({ method: 'GET', path: `/vac/${name}/conversations` }) },
  { route: 'POST /vac/:vector_name/conversations', thing: 'vac', make: name => ({ path: `/vac/${name}/conversations`, body: { turns } }) },
  { route: 'GET /vac/:vector_name/conversations/:conversation_id', make: at('') },
  { route: 'GET /vac/:vector_name/conversations/:conversation_id', about: 'before a turn', make: at('?before=none') },
  { route: 'GET /vac/:vector_name/conversations/:conversation_id', about: 'at another VAC', isSilent: true, make: id => ({ method: 'GET', path: `/vac/${OTHER_VAC}/conversations/${id}` }) },
  { route: 'GET /vac/:vector_name/conversations/:conversation_id/export', make: at('/export') },
  { route: 'PATCH /vac/:vector_name/conversations/:conversation_id', changes, make: at('', rename) },
  { route: 'DELETE /vac/:vector_name/conversations/:conversation_id', changes, make: at('', { method: 'DELETE' }) },

  // ids of the service are never taken from an export
  { route: 'POST /vac/:vector_name/conversations', about: 'an export with the id of the service', isSilent: true, make: id => ({ path: all, body: { id, turns } }) },
  { route: 'POST /vac/streaming/:vector_name/sse', about: 'with an id of the service', kind: 'stream', make: id => ({ path: `/vac/streaming/${VAC}/sse`, body: { ...question, conversation_id: id } }) },
  { route: 'POST /openai/v1/chat/completions', about: 'with an id of the service', make: id => ({ path: '/openai/v1/chat/completions', body: { model: VAC, messages: [{ role: 'user', content: 'hello' }], conversation_id: id } }) },
  { route: 'POST /vac/:vector_name', about: 'with an id of the service, not kept', make: id => ({ path: `/vac/${VAC}`, body: { ...question, conversation_id: id, store: false } }) },

  ...rowsOf({ thing: 'namedConversation' }, [
    { route: 'GET /vac/:vector_name/conversations/:conversation_id', about: 'an id of its caller', make: at('') },
    { route: 'DELETE /vac/:vector_name/conversations/:conversation_id', about: 'an id of its caller', changes, make: at('', { method: 'DELETE' }) },
    { route: 'POST /vac/:vector_name', about: 'with an id of its caller', isSilent: true, make: id => ({ path: `/vac/${VAC}`, body: { ...question, conversation_id: id } }) },
    { route: 'POST /vac/:vector_name/conversations', about: 'an export with an id of its caller', isSilent: true, make: id => ({ path: all, body: { id, turns } }) }
  ])
])
