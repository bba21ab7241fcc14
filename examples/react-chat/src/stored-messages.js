/** What the service keeps of a conversation, as messages of useChat. The answer in progress comes with `resume`. */
export async function storedMessages (id, token) {
  const response = await fetch(`/vac/helpdesk/conversations/${encodeURIComponent(id)}`, { headers: { authorization: `Bearer ${token}` } })
  if (response.status === 404) return []
  if (!response.ok) throw new Error(`the conversation cannot be read: ${response.status}`)
  const { turns } = await response.json()
  return turns.flatMap(turn => [
    { id: `${turn.id}-question`, role: 'user', parts: [{ type: 'text', text: turn.question }] },
    ...goesOn.has(turn.state) ? [] : [{ id: turn.id, role: 'assistant', parts: partsOf(turn) }]
  ])
}

const goesOn = new Set(['queued', 'running'])

/** A turn that failed or was cancelled has no answer. */
function partsOf ({ answer, state, source_documents: sources }) {
  if (answer === undefined) return [{ type: 'data-state', data: state }]
  return [{ type: 'text', text: answer }, ...sources.flatMap(sourceOf)]
}

function sourceOf ({ metadata: { source, title } }, i) {
  return /^https?:/.test(source) ? [{ type: 'source-url', sourceId: String(i + 1), url: source, title }] : []
}
