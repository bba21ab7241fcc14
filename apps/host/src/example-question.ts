import type { Vac } from '@polyvac/core'
import type { FolderMemory } from '@polyvac/documents'

/** For agents without documents. Folders introduce themselves. */
const NEUTRAL = 'What can you do?'
/** Questions of a first screen. */
const MAX_EXAMPLES = 3

/**
 * Questions that a VAC answers: of its entry, otherwise of its folders, otherwise one that suits any agent. Commands to
 * paste have the first.
 */
export async function exampleQuestions (vac: Vac | undefined, folders: readonly Pick<FolderMemory, 'exampleQuestions'>[] = []): Promise<readonly [string, ...string[]]> {
  // an example must not cost the page
  const ofFolders = async (): Promise<readonly string[]> => (await Promise.all(folders.map(async folder => await folder.exampleQuestions().catch(() => [])))).flat()
  const [first = NEUTRAL, ...others] = new Set(vac?.config.examples ?? await ofFolders())
  return [first, ...others.slice(0, MAX_EXAMPLES - 1)]
}

/** The body of a question as a word of a shell, in single quotes. */
export function questionBody (question: string): string {
  return `'${JSON.stringify({ user_input: question }).replaceAll("'", '\\u0027')}'`
}
