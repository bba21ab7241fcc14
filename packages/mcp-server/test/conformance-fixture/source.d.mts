import type { ToolSource } from '../../src/index.js'

export function fixtureSource (): ToolSource
