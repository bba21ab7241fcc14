import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icons.js'

/** Copies a text; the button shows for a moment that it did. */
export function CopyButton ({ text, label, testId, icon }: { text: () => string, label: string, testId: string, icon?: 'copy' }): JSX.Element {
  const state = useSignal('ready')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text())
      state.value = 'copied'
    } catch {
      state.value = 'failed'
    }
    setTimeout(() => { state.value = 'ready' }, 1500)
  }
  const shown = state.value === 'ready' ? label : state.value === 'copied' ? 'Copied' : 'Not allowed'
  return (
    <button type='button' class={icon === undefined ? undefined : 'quiet'} data-testid={testId} data-state={state} aria-label={icon === undefined ? undefined : shown} title={icon === undefined ? undefined : shown} onClick={() => { copy() }}>
      {icon === undefined ? shown : <Icon name={state.value === 'copied' ? 'done' : state.value === 'failed' ? 'failed' : icon} />}
    </button>
  )
}

/** Saves a file. Its type is not the one of the agent: no browser opens it in the name of this page. */
export function saveFile (name: string, content: BlobPart): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  link.download = name
  link.click()
  // the browser has read the address once the click has ended
  setTimeout(() => { URL.revokeObjectURL(link.href) })
}

/** A value as JSON that a keyboard can scroll. */
export function Json ({ value, testId, label }: { value: unknown, testId: string, label: string }): JSX.Element {
  return <pre class='json' data-testid={testId} tabIndex={0} role='region' aria-label={label}>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
}

export function Notice ({ kind, testId, children }: { kind: 'error' | 'warning' | 'ok' | 'info', testId: string, children: ComponentChildren }): JSX.Element {
  return <p class={`notice ${kind}`} data-testid={testId} data-state={kind} role={kind === 'error' ? 'alert' : undefined}>{children}</p>
}

/** A link of an agent or a document: its page gets neither the address of this one nor a handle to it. */
export function Link ({ url, children }: { url: string, children: ComponentChildren }): JSX.Element {
  return <a href={url} target='_blank' rel='noreferrer'>{children}</a>
}

export interface VirtualListProps<T> {
  readonly items: readonly T[]
  /** Height of a row in px; all rows have it. */
  readonly rowHeight: number
  readonly height: number
  readonly label: string
  readonly testId: string
  readonly row: (item: T, index: number) => ComponentChildren
}

/** A list that renders only the rows in sight. */
export function VirtualList<T> ({ items, rowHeight, height, label, testId, row }: VirtualListProps<T>): JSX.Element {
  const top = useSignal(0)
  const box = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const first = Math.max(0, Math.floor(top.value / rowHeight) - 5)
  const visible = items.slice(first, first + Math.ceil(height / rowHeight) + 10)
  // set through the DOM: the policy of the page refuses style attributes in markup, not properties
  useEffect(() => {
    if (box.current !== null) box.current.style.maxHeight = `${height}px`
    if (inner.current !== null) {
      inner.current.style.height = `${(items.length - first) * rowHeight}px`
      inner.current.style.paddingTop = `${first * rowHeight}px`
    }
  })
  return (
    <div
      class='virtual' ref={box} tabIndex={0} role='region' aria-label={label} data-testid={testId}
      onScroll={event => { top.value = event.currentTarget.scrollTop }}
    >
      <div ref={inner}>{visible.map((item, index) => row(item, first + index))}</div>
    </div>
  )
}

/** `1.2 s`, `34 ms`; `–` where a time is not known. */
export function duration (ms: number | undefined): string {
  return ms === undefined ? '–' : ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms)} ms`
}

/** `1.2 kB`, `34 B`. */
export function bytes (count: number): string {
  return count >= 1000 ? `${(count / 1000).toFixed(1)} kB` : `${count} B`
}

/** `1 frame`, `2 frames`. */
export function count (number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
