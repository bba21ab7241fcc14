export const WEIGHTS: string
export function testFiles (): string[]
export function inProcesses (files: readonly string[]): Map<string, string[]>
export function readWeights (): Record<string, number>
export function heaviestFirst (names: readonly string[], weights: Readonly<Record<string, number>>): string[]
export function shardOf (names: readonly string[], weights: Readonly<Record<string, number>>, number: number, count: number): string[]
