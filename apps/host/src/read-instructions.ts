import { readBoundedFile } from '@polyvac/core/plugin'
import { resolve } from 'node:path'
import { InstructionsFileError } from './errors.js'

/** Longest file of instructions, in bytes: a model reads all of it with each question. */
const MAX_INSTRUCTIONS_BYTES = 64 * 1024
const IS_PATH = /^\.{0,2}\//

/** The instructions of a VAC's entry: the text, or the content of the file that it names. @throws INSTRUCTIONS_FILE */
export async function readInstructions (vac: string, instructions: string | undefined, folder: string): Promise<string | undefined> {
  if (instructions === undefined || !IS_PATH.test(instructions)) return instructions
  try {
    return (await readBoundedFile(resolve(folder, instructions), MAX_INSTRUCTIONS_BYTES)).toString()
  } catch (err) {
    throw Object.assign(new InstructionsFileError(JSON.stringify(vac), JSON.stringify(instructions), (err as Error).message), { cause: err })
  }
}
