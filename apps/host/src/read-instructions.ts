import { readBoundedFile } from '@polyvac/core/plugin'
import { resolve } from 'node:path'
import { withNotes } from './config/notes.js'
import { InstructionsFileError } from './errors.js'

/** Longest file of instructions, in bytes: a model reads all of it with each question. */
const MAX_INSTRUCTIONS_BYTES = 64 * 1024
const IS_PATH = /^\.{0,2}\//

/** The instructions of a VAC's entry: the text, or the content of the file that it names. @throws INSTRUCTIONS_FILE */
export async function readInstructions (vac: string, instructions: string | undefined, folder: string): Promise<string | undefined> {
  if (instructions === undefined || !IS_PATH.test(instructions)) return instructions
  const file = resolve(folder, instructions)
  try {
    return (await readBoundedFile(file, MAX_INSTRUCTIONS_BYTES)).toString()
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? `there is no file ${file}; paths are relative to the configuration file` : message
    const error = new InstructionsFileError(JSON.stringify(vac), JSON.stringify(instructions), reason)
    throw withNotes(Object.assign(error, { cause: err }), [{ path: ['vac', vac, 'instructions'], message: error.message }])
  }
}
