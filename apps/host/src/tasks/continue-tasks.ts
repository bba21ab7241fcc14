import { isRecord } from '@polyvac/core/plugin'
import type { TaskRecord, TaskStore } from '@polyvac/tasks'
import { randomUUID } from 'node:crypto'

/** Tasks of one owner that one sign-in continues; the owner answers the others. */
const MAX_CONTINUED = 100

/**
 * Continues the tasks of an owner that wait for a sign-in to an MCP server or agent: each runs again with the last
 * message of its caller.
 * @param caller the empty text where the service authenticates no caller
 */
export async function continueTasks (store: TaskStore, caller: string, server: string): Promise<void> {
  const [{ ownerKey }, { turnQuestionOf }] = await Promise.all([import('@polyvac/tasks'), import('@polyvac/runs')])
  const owner = ownerKey(caller === '' ? undefined : caller)
  const { tasks } = await store.list(owner, { states: ['auth-required'], limit: MAX_CONTINUED })
  for (const { id } of tasks) {
    const task = await store.get(owner, id)
    const parts = task === null || !waitsFor(task, server) ? undefined : questionOf(task)
    // the caller may have answered meanwhile: then the task does not wait any more
    if (parts !== undefined) await store.provideInput(owner, id, { id: randomUUID(), parts }, undefined, turnQuestionOf(parts))
  }
}

function waitsFor ({ messages }: TaskRecord, server: string): boolean {
  return messages.at(-1)?.parts.some(part => part.type === 'data' && isRecord(part.data) && isRecord(part.data.signIn) && part.data.signIn.server === server) === true
}

function questionOf ({ messages, input }: TaskRecord): TaskRecord['messages'][number]['parts'] {
  const { question } = (input ?? {}) as { question?: unknown }
  return messages.findLast(({ role }) => role === 'user')?.parts ?? [{ type: 'text', text: String(question ?? '') }]
}
