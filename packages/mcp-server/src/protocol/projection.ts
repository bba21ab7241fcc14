import { LISTS, type Definitions } from '../lists/catalog.js'
import { isRecord } from './rpc.js'
import type { Revision } from './revisions.js'
import type { ListKind, ToolDefinition, ToolResult } from '../tool-source.js'

/** Which revision brought which field of a definition; those not named were there from the beginning. */
const SINCE: Readonly<Record<string, Revision>> = {
  annotations: '2025-03-26',
  title: '2025-06-18',
  outputSchema: '2025-06-18',
  _meta: '2025-06-18',
  icons: '2025-11-25',
  execution: '2025-11-25'
}

/** The fields of a definition that leave, in this order; others, such as a source's own notes, stay here. */
const FIELDS = {
  tools: ['name', 'title', 'description', 'icons', 'inputSchema', 'outputSchema', 'execution', 'annotations', '_meta'],
  resources: ['uri', 'name', 'title', 'description', 'icons', 'mimeType', 'size', 'annotations', '_meta'],
  templates: ['uriTemplate', 'name', 'title', 'description', 'icons', 'mimeType', 'annotations', '_meta'],
  prompts: ['name', 'title', 'description', 'icons', 'arguments', '_meta']
} as const satisfies Record<ListKind, readonly string[]>

/** Annotations of resources are older than those of tools. */
const ALWAYS: ReadonlySet<string> = new Set(['resources.annotations', 'templates.annotations'])

/** A definition as a revision knows it. `withTasks` tells of core tasks, which are in 2025-11-25 alone. */
export function projectDefinition<K extends ListKind> (kind: K, definition: Definitions[K], revision: Revision, withTasks: boolean): Record<string, unknown> {
  const given: Record<string, unknown> = { ...definition }
  if (kind === 'tools') {
    const { taskSupport, outputSchema } = definition as ToolDefinition
    if (withTasks && taskSupport !== undefined && revision === '2025-11-25') given.execution = { taskSupport }
    else delete given.execution
    // before 2026-07-28 structured content is an object
    if (outputSchema !== undefined && revision < '2026-07-28' && (outputSchema as { type?: unknown }).type !== 'object') delete given.outputSchema
  }
  if ((kind === 'resources' || kind === 'templates') && given.name === undefined) given.name = given[LISTS[kind].id]
  const projected: Record<string, unknown> = {}
  for (const field of FIELDS[kind]) {
    const since = SINCE[field]
    if (given[field] !== undefined && (since === undefined || revision >= since || ALWAYS.has(`${kind}.${field}`))) projected[field] = given[field]
  }
  return projected
}

/** A tool's result as a revision knows it. */
export function projectResult ({ content, structuredContent, isError, _meta }: ToolResult, revision: Revision): Record<string, unknown> {
  const blocks = Array.isArray(content) ? content as ToolResult['content'] : []
  const shown = blocks.length === 0 && structuredContent !== undefined ? [{ type: 'text', text: JSON.stringify(structuredContent) }] : blocks
  if (revision >= '2026-07-28') return { content: shown, structuredContent, isError, _meta }
  if (revision >= '2025-06-18') return { content: shown, structuredContent: isRecord(structuredContent) ? structuredContent : undefined, isError, _meta }
  return { content: shown.map(block => olderBlock(block, revision)), isError, _meta }
}

/** A content block for a revision before 2025-06-18: kinds that it does not know become text. */
function olderBlock (block: Readonly<Record<string, unknown>>, revision: Revision): Readonly<Record<string, unknown>> {
  if (block.type === 'resource_link') return { type: 'text', text: String(block.uri) }
  if (block.type === 'audio' && revision < '2025-03-26') return { type: 'text', text: `(audio, ${String(block.mimeType)})` }
  return block
}
