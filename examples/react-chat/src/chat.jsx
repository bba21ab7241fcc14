import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import React, { useMemo, useState } from 'react'
import { resumableTransport } from './resumable-transport.js'

const api = '/ai/helpdesk'

export function Chat ({ id, token, messages: stored }) {
  const headers = { authorization: `Bearer ${token}` }
  const transport = useMemo(() => resumableTransport({ api, headers }), [id, token])
  const { messages, sendMessage, status, error, addToolApprovalResponse } = useChat({
    id, messages: stored, transport, resume: true, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  const [text, setText] = useState('')
  const isBusy = status === 'submitted' || status === 'streaming'

  function ask (event) {
    event.preventDefault()
    sendMessage({ text })
    setText('')
  }

  // `stop` of useChat only closes the line, as a reload does: the answer would go on
  const stop = async () => { await fetch(`${api}/${encodeURIComponent(id)}/stop`, { method: 'POST', headers }) }

  return (
    <>
      <ol>{messages.map(message => <Message key={message.id} message={message} onApproval={addToolApprovalResponse} />)}</ol>
      {error !== undefined && <p role='alert'>{error.message}</p>}
      <form onSubmit={ask}>
        <input aria-label='Question' value={text} onChange={event => setText(event.target.value)} />
        <button disabled={text === ''}>Ask</button>
        {isBusy && <button type='button' onClick={stop}>Stop</button>}
      </form>
      <output>{status}</output>
    </>
  )
}

function Message ({ message: { role, parts }, onApproval }) {
  return <li data-role={role}>{parts.map((part, i) => <Part key={i} part={part} onApproval={onApproval} />)}</li>
}

function Part ({ part, onApproval }) {
  switch (part.type) {
    case 'text': return <p>{part.text}</p>
    case 'source-url': return <a href={part.url}>{part.title ?? part.url}</a>
    case 'dynamic-tool': return part.state === 'approval-requested'
      ? <Approval part={part} onApproval={onApproval} />
      : <small>{part.toolName}: {part.state}</small>
    case 'data-state': return <small>{part.data}</small>
    default: return null
  }
}

function Approval ({ part: { approval, input }, onApproval }) {
  const answer = approved => () => onApproval({ id: approval.id, approved })
  return (
    <fieldset>
      <legend>{input.question}</legend>
      <button type='button' onClick={answer(true)}>Yes</button>
      <button type='button' onClick={answer(false)}>No</button>
    </fieldset>
  )
}
