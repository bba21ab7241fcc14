import type { FolderMemory } from '@polyvac/documents'

/** For agents without documents. */
const NEUTRAL = 'What can you do?'
/** Questions of a first screen. */
const MAX_EXAMPLES = 3

/** The question in commands to paste: one that the folders of a VAC answer, otherwise one that suits any agent. */
export async function exampleQuestion (folders: readonly Pick<FolderMemory, 'exampleQuestion'>[] = []): Promise<string> {
  for (const folder of folders) {
    // an example must not cost the page
    const question = await folder.exampleQuestion().catch(() => undefined)
    if (question !== undefined) return question
  }
  return NEUTRAL
}

/** Questions that the folders of a VAC answer, for its first screen; the neutral one for an agent without folders. */
export async function exampleQuestions (folders: readonly Pick<FolderMemory, 'exampleQuestions'>[] = []): Promise<readonly string[]> {
  if (folders.length === 0) return [NEUTRAL]
  const found = await Promise.all(folders.map(async folder => await folder.exampleQuestions().catch(() => [])))
  return [...new Set(found.flat())].slice(0, MAX_EXAMPLES)
}

/** The body of a question as a word of a shell, in single quotes. */
export function questionBody (question: string): string {
  return `'${JSON.stringify({ user_input: question }).replaceAll("'", '\\u0027')}'`
}
