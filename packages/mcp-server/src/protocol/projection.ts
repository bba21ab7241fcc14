import { definitionFor, features, type ListKind, type Revision } from '@polyvac/mcp-protocol'
import type { Definitions, ToolDefinition } from '../tool-source.js'

/** The fields of a definition that a revision has. `withTasks` is whether the server has core tasks. */
export function projectDefinition<K extends ListKind> (
  kind: K, definition: Definitions[K], revision: Revision, withTasks: boolean
): Readonly<Record<string, unknown>> {
  const { taskSupport } = definition as Partial<ToolDefinition>
  const hasTasks = withTasks && taskSupport !== undefined && features[revision].coreTasks
  return definitionFor(kind, { ...definition, execution: hasTasks ? { taskSupport } : undefined }, revision)
}
