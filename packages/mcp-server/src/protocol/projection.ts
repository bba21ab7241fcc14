import { isRecord } from '@polyvac/core/plugin'
import { definitionFields, features, LISTS, type Features, type ListKind, type Revision } from '@polyvac/mcp-protocol'
import type { Definitions, ToolDefinition, ToolResult } from '../tool-source.js'

/** The fields of a definition that a revision has. `withTasks` is whether the server has core tasks. */
export function projectDefinition<K extends ListKind> (
  kind: K, definition: Definitions[K], revision: Revision, withTasks: boolean
): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...definition }
  if (kind === 'tools') {
    const { taskSupport, outputSchema } = definition as ToolDefinition
    if (withTasks && taskSupport !== undefined && features[revision].coreTasks) fields.execution = { taskSupport }
    else delete fields.execution
    const isObject = (outputSchema as { type?: unknown } | undefined)?.type === 'object'
    if (features[revision].structuredContent === 'object' && !isObject) delete fields.outputSchema
  }
  if ((kind === 'resources' || kind === 'templates') && fields.name === undefined) fields.name = fields[LISTS[kind].id]
  const projected: Record<string, unknown> = {}
  for (const field of definitionFields[revision][kind]) {
    if (fields[field] !== undefined) projected[field] = fields[field]
  }
  return projected
}

type Block = ToolResult['content'][number]

/** The parts of a tool's result that a revision has. */
export function projectResult (result: ToolResult, revision: Revision): Record<string, unknown> {
  const { structuredContent, isError, _meta } = result
  const { structuredContent: values, resourceLinks, audio } = features[revision]
  const content = Array.isArray(result.content) ? result.content as Block[] : []
  const isMissing = content.length === 0 && structuredContent !== undefined
  const blocks: readonly Block[] = isMissing ? [{ type: 'text', text: JSON.stringify(structuredContent) }] : content
  const hasStructure = values === 'any' || (values === 'object' && isRecord(structuredContent))
  return {
    content: resourceLinks && audio ? blocks : blocks.map(block => projectBlock(block, features[revision])),
    structuredContent: hasStructure ? structuredContent : undefined,
    isError,
    _meta
  }
}

/** Content blocks of a type that a revision does not have become text. */
function projectBlock (block: Block, { resourceLinks, audio }: Features): Block {
  if (block.type === 'resource_link' && !resourceLinks) return { type: 'text', text: String(block.uri) }
  if (block.type === 'audio' && !audio) return { type: 'text', text: `(audio, ${String(block.mimeType)})` }
  return block
}
