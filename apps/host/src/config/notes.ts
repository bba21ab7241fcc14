import { ConfigError, type ConfigProblem } from '@polyvac/core'
import { problemIn } from '@polyvac/core/plugin'
import { readFile } from 'node:fs/promises'
import type { HostConfig } from './read-config.js'

/** What is wrong with a part of the configuration, or has no effect. It shows only when the parts are opened. */
export interface Note {
  /** Keys and indexes from the root of the file. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
  readonly hint?: string | undefined
}

const NOTES = Symbol('notes')

/** An error that is about these places of the configuration. */
export function withNotes<E extends Error> (err: E, notes: readonly Note[]): E { return Object.assign(err, { [NOTES]: notes }) }

/** The notes with their lines; undefined where the configuration is not in a file. */
export async function placesOf (config: HostConfig | undefined, notes: readonly Note[]): Promise<ConfigProblem[] | undefined> {
  const text = config === undefined ? undefined : await readFile(config.file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : notes.map(({ path, message, hint }) => problemIn(text, config!.file, path, message, hint))
}

/** @throws CONFIG_INVALID with the places in the file for an error with notes, and any other error unchanged */
export async function inFile<T> (config: HostConfig | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const notes = (err as { readonly [NOTES]?: readonly Note[] } | undefined)?.[NOTES]
    const problems = notes === undefined ? undefined : await placesOf(config, notes)
    throw problems === undefined ? err : new ConfigError(problems)
  }
}
