import React, { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Chat } from './chat.jsx'
import { storedMessages } from './stored-messages.js'

function App () {
  const [token, setToken] = useState(localStorage.getItem('token'))
  if (token === null) return <Login onToken={token => { localStorage.setItem('token', token); setToken(token) }} />
  return <Conversation token={token} onLogout={() => { localStorage.removeItem('token'); setToken(null) }} />
}

function Login ({ onToken }) {
  const [name, setName] = useState('')
  async function login (event) {
    event.preventDefault()
    const response = await fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name }) })
    onToken((await response.json()).token)
  }
  return (
    <form onSubmit={login}>
      <label>Name <input value={name} onChange={event => setName(event.target.value)} /></label>
      <button disabled={name === ''}>Log in</button>
    </form>
  )
}

/** The conversation of the address: the same link in another tab is the same conversation. */
function Conversation ({ token, onLogout }) {
  const [id, setId] = useState(() => window.location.hash.slice(1) || crypto.randomUUID())
  const [messages, setMessages] = useState()
  useEffect(() => {
    window.history.replaceState(null, '', `#${id}`)
    setMessages(undefined)
    storedMessages(id, token).then(setMessages, onLogout)
  }, [id, token])
  return (
    <>
      <button onClick={() => setId(crypto.randomUUID())}>New conversation</button>
      <button onClick={onLogout}>Log out</button>
      {messages === undefined ? <p>Loading …</p> : <Chat key={id} id={id} token={token} messages={messages} />}
    </>
  )
}

createRoot(document.querySelector('#app')).render(<App />)
