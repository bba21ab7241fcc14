/** What the service keeps of a conversation, as messages of useChat. The answer in progress comes with `resume`. */
export async function storedMessages (id, token) {
  const response = await fetch(`/vac/helpdesk/conversations/${encodeURIComponent(id)}`, { headers: { authorization: `Bearer ${token}` } })
  if (response.status === 404) return []
  if (!response.ok) throw new Error(`the conversation cannot be read: ${response.status}`)
  const { turns } = await response.json()
  return turns.flatMap(({ id, question, answer }) => [
    { id: `${id}-question`, role: 'user', parts: [{ type: 'text', text: question }] },
    ...answer === undefined ? [] : [{ id, role: 'assistant', parts: [{ type: 'text', text: answer }] }]
  ])
}
