import type { Interpreter } from '@polyvac/core'

export const WORKS: Readonly<Record<string, Interpreter>>
export const steered: Interpreter
export function steeredBy (otherwise: string): Interpreter
