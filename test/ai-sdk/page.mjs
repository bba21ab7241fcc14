// A page with the hooks of the AI SDK, in happy-dom.
import { Window } from 'happy-dom'
import { useChat as useChat2, useCompletion as useCompletion2 } from 'ai-sdk-react-2'
import { useChat as useChat3, useCompletion as useCompletion3 } from 'ai-sdk-react-3'
import { useChat as useChat4, useCompletion as useCompletion4 } from 'ai-sdk-react-4'
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import { versionOf } from '../responses/version.mjs'

const window = new Window({ url: 'http://127.0.0.1/' })
for (const [name, value] of Object.entries({ window, document: window.document, navigator: window.navigator })) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}
// it looks for a window when it is loaded
const { createRoot } = await import('react-dom/client')
const { createElement, StrictMode, useEffect } = await import('react')

export const HOOKS = [
  { version: versionOf('ai-sdk-react-2'), ai: ai5, useChat: useChat2, useCompletion: useCompletion2 },
  { version: versionOf('ai-sdk-react-3'), ai: ai6, useChat: useChat3, useCompletion: useCompletion3 },
  { version: versionOf('ai-sdk-react-4'), ai: ai7, useChat: useChat4, useCompletion: useCompletion4 }
]

/**
 * Mounts a component that calls a hook. `current()` is what the hook returned last, undefined until the component is
 * mounted: in strict mode what is sent before that is cancelled. `leave()` unmounts it.
 * @param show what the component renders of that
 */
export function mount (useHook, show = () => null) {
  let current
  let isMounted = false
  const root = createRoot(window.document.createElement('div'))
  const Page = () => {
    current = useHook()
    useEffect(() => { isMounted = true }, [])
    return show(current)
  }
  root.render(createElement(StrictMode, null, createElement(Page)))
  return { current: () => isMounted ? current : undefined, leave: () => { root.unmount() } }
}

export async function closePage () { await window.happyDOM.close() }
