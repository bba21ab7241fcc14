import type { RunTurn } from '@polyvac/core'

const TURN_ID = /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:-([1-9]\d?))?$/

/** The id of a turn of a run. */
export function turnId ({ id, turn }: RunTurn): string { return turn === 0 ? id : `${id}-${turn}` }

/** The turn of an id; undefined for any other text. */
export function readTurnId (id: string): RunTurn | undefined {
  const [, run, turn = '0'] = TURN_ID.exec(id) ?? []
  return run === undefined ? undefined : { id: run, turn: Number(turn) }
}
