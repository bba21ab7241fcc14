import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import type { ChatProtocol } from '../protocols/chat-protocol.js'
import { Icon } from '../shared/icons.js'
import { AnswerItem } from './answer-item.js'
import type { Answer } from './answer.js'
import { answers, isAsking, readEarlier } from './conversation.js'

/** Pixels from the end within which the reader follows what is added. */
const NEAR_PX = 80
/** Conversations with at most so many turns are rendered whole; of longer ones the turns near the reader. */
const MAX_WHOLE = 40
/** Pixels above and below what is seen in which turns are rendered, and at whose beginning earlier turns are read. */
const MARGIN_PX = 600
/** Height of a turn that was not rendered yet. */
const GUESS_PX = 160

/** A turn that the reader sees, and where it is below the upper edge, in px. */
interface Place { readonly key: number, readonly top: number }

/** Heights of turns by their keys. */
type Heights = ReadonlyMap<number, number>

/** The turns to render around a place, or at the end. */
function windowAt (turns: readonly Answer[], heights: Heights, place: Place | undefined, height: number): readonly [from: number, to: number] {
  if (turns.length <= MAX_WHOLE) return [0, turns.length]
  const at = place === undefined ? -1 : turns.findIndex(({ key }) => key === place.key)
  const [index, top] = at === -1 ? [turns.length, height] : [at, place!.top]
  const heightAt = (index: number): number => heights.get(turns[index]!.key) ?? GUESS_PX
  let [from, to] = [index, index]
  for (let left = top + MARGIN_PX; from > 0 && left > 0;) left -= heightAt(--from)
  for (let left = height - top + MARGIN_PX; to < turns.length && left > 0;) left -= heightAt(to++)
  return [from, to]
}

interface ThreadProps {
  /** For the answer of a question that is asked again. */
  readonly protocol: ChatProtocol['id']
  /** What is above the turns. */
  readonly children: ComponentChildren
}

/** The turns. They follow the answer unless the reader has scrolled up, and what the reader sees stays where it is. */
export function Thread ({ protocol, children }: ThreadProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const isFollowing = useSignal(true)
  const [, renderAgain] = useReducer<number, undefined>(count => count + 1, 0)
  const top = useRef(0)
  const place = useRef<Place | undefined>(undefined)
  // @keyed keys of the turns of the conversation that is shown, with their heights; another one replaces it
  const heights = useRef(new Map<number, number>())

  const turns = answers.value
  const [from, to] = windowAt(turns, heights.current, isFollowing.peek() ? undefined : place.current, box.current?.clientHeight ?? innerHeight)
  const spaceOf = (hidden: readonly Answer[]): number => hidden.reduce((sum, { key }) => sum + (heights.current.get(key) ?? GUESS_PX), 0)
  const toEnd = (): void => { box.current!.scrollTop = box.current!.scrollHeight }
  const topOf = (element: Element): number => element.getBoundingClientRect().top - box.current!.getBoundingClientRect().top
  const settle = (): void => {
    if (isFollowing.peek()) return toEnd()
    const shown = place.current === undefined ? null : list.current!.querySelector(`[data-key="${place.current.key}"]`)
    if (shown !== null) box.current!.scrollTop += topOf(shown) - place.current!.top
  }
  const onScroll = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = box.current!
    // the text may have grown since the page went to the end, so only a way up is the reader's
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) isFollowing.value = true
    else if (scrollTop < top.current) isFollowing.value = false
    top.current = scrollTop
    const seen = [...list.current!.querySelectorAll<HTMLElement>('[data-key]')].find(turn => topOf(turn) + turn.offsetHeight > 0)
    place.current = seen === undefined || topOf(seen) > clientHeight ? placeIn(turns, heights.current, topOf(list.current!)) : { key: Number(seen.dataset.key), top: topOf(seen) }
    const next = windowAt(turns, heights.current, isFollowing.peek() ? undefined : place.current, clientHeight)
    if (next[0] !== from || next[1] !== to) renderAgain(undefined)
    if (scrollTop < MARGIN_PX && !isFollowing.peek()) readEarlier()
  }
  useLayoutEffect(() => {
    for (const turn of list.current!.querySelectorAll<HTMLElement>('[data-key]')) heights.current.set(Number(turn.dataset.key), turn.offsetHeight)
    // set through the DOM: the policy of the page refuses style attributes in markup, not properties
    for (const [name, hidden] of [['before', turns.slice(0, from)], ['after', turns.slice(to)]] as const) {
      const gap = list.current!.querySelector<HTMLElement>(`[data-gap=${name}]`)
      if (gap !== null) gap.style.height = `${spaceOf(hidden)}px`
    }
    if (turns.length > MAX_WHOLE) settle()
  })
  // a question of the reader goes to the end, wherever the reader is, and so does another conversation
  useEffect(() => {
    isFollowing.value = true
    toEnd()
  }, [turns.at(-1)?.key])
  useEffect(() => { if (turns.length === 0) heights.current.clear() }, [turns.length])
  useLayoutEffect(() => {
    const observer = new ResizeObserver(settle)
    observer.observe(inner.current!)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  const isPartly = turns.length > MAX_WHOLE
  return (
    <div class='thread-box'>
      <div class='thread' ref={box} tabIndex={0} role='region' aria-label='Turns' data-testid='chat-thread' onScroll={onScroll}>
        <div class='column' ref={inner}>
          {children}
          {turns[0]?.earlier !== undefined && <button type='button' class='earlier' data-testid='chat-earlier' disabled={isAsking} onClick={() => { isFollowing.value = false; readEarlier() }}>Earlier turns</button>}
          <ol class='conversation' ref={list} aria-label='Conversation' data-testid='chat-answers'>
            {from > 0 && <li key='before' class='gap' data-gap='before' aria-hidden='true' />}
            {turns.slice(from, to).map((answer, index) => (
              <li key={answer.key} class='turn' data-key={answer.key} aria-setsize={isPartly ? turns.length : undefined} aria-posinset={isPartly ? from + index + 1 : undefined}>
                <AnswerItem answer={answer} isLast={from + index === turns.length - 1} protocol={protocol} />
              </li>
            ))}
            {to < turns.length && <li key='after' class='gap' data-gap='after' aria-hidden='true' />}
          </ol>
        </div>
      </div>
      {!isFollowing.value && <button type='button' class='to-end' aria-label='To the end' title='To the end' data-testid='chat-to-end' onClick={() => { isFollowing.value = true; toEnd() }}><Icon name='down' /></button>}
    </div>
  )
}

/** The turn at the upper edge, where none of those that are rendered is seen: the reader has moved far. */
function placeIn (turns: readonly Answer[], heights: Heights, top: number): Place | undefined {
  for (const { key } of turns) {
    const height = heights.get(key) ?? GUESS_PX
    if (top + height > 0) return { key, top }
    top += height
  }
  return undefined
}
