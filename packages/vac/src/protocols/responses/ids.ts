import type { RunTurn } from '@polyvac/core'

/** An item of a response, by its place. */
export interface ItemPlace {
  readonly run: RunTurn
  readonly index: number
  /** Whether it is of the input. */
  readonly isInput: boolean
}

/** Indexes of the question among the input, and of the answer among the output, of a turn of a conversation. */
export const QUESTION = 0xffff
export const ANSWER = 0xff

/** Prefixes of the ids of items by their type. */
const PREFIXES: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc', function_call_output: 'fco' }

const RESPONSE = /^resp_([0-9a-f]{32})([0-9a-f]{2})$/
const ITEM = /^[a-z]{2,4}_([0-9a-f]{32})([0-9a-f]{2})(?:([0-9a-f]{2})|i([0-9a-f]{4}))$/

/** The digits of a run and its turn, which the id of a response and those of its items have in common. */
export function keyOf ({ id, turn }: RunTurn): string {
  return `${id.replaceAll('-', '')}${hex(turn, 2)}`
}

/** The id of the response that a turn of a run is. */
export function responseId (run: RunTurn): string { return `resp_${keyOf(run)}` }

/** The turn of a run that a response is; undefined for a text that is not an id. */
export function runOfResponse (id: string): RunTurn | undefined {
  const [, run, turn] = RESPONSE.exec(id) ?? []
  return run === undefined || turn === undefined ? undefined : runTurn(run, turn)
}

/** The id of an item of the output. */
export function outputId (prefix: 'msg' | 'rs' | 'fc', key: string, index: number): string { return `${prefix}_${key}${hex(index, 2)}` }

/** The id of a call of a tool that has none: the same each time that the answer is read. */
export function callId (key: string, index: number): string { return `call_${key}${hex(index, 2)}` }

/** The id of an item of the input. */
export function inputId (key: string, index: number, type: unknown = 'message'): string { return `${Object.hasOwn(PREFIXES, String(type)) ? PREFIXES[String(type)] : 'item'}_${key}i${hex(index, 4)}` }

/** Where an item is, by its id; undefined for the id of another service. */
export function placeOfItem (id: string): ItemPlace | undefined {
  const [, run, turn, output, input] = ITEM.exec(id) ?? []
  if (run === undefined || turn === undefined) return undefined
  return { run: runTurn(run, turn), index: parseInt(output ?? input ?? '', 16), isInput: input !== undefined }
}

/** The digits of a turn of a conversation, by its id: that of its run, and which turn of it, from the second on. */
export function keyOfTurn (id: string): string { return keyOf({ id: id.slice(0, 36), turn: Number(id.slice(37)) }) }

function runTurn (digits: string, turn: string): RunTurn {
  return { id: digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), turn: parseInt(turn, 16) }
}

function hex (n: number, digits: number): string { return n.toString(16).padStart(digits, '0') }
