import type { ListedTool } from '@polyvac/core'
import type { ServerItem } from '../servers.js'
import type { ListKind } from '@polyvac/mcp-protocol'
import { CAUSES } from '../connections/cause.js'
import type { UpstreamStatus } from '../upstream/status.js'
import type { ToolResult } from '../protocol/call-options.js'
import { isRecord, needsApproval } from '@polyvac/core/plugin'

const text = (value: unknown): string => typeof value === 'string' ? value : ''
const record = (value: unknown): Record<string, unknown> => isRecord(value) ? value : {}

/** A tool of the service description. */
export function listedTool ({ server, item }: ServerItem): ListedTool {
  return {
    name: text(item.name),
    description: text(item.description),
    inputSchema: { type: 'object', ...record(item.inputSchema) },
    server
  }
}

/** The same for interpreters. @param approve the list of the entry of its server */
export function callableTool (entry: ServerItem, approve: readonly string[]): ListedTool {
  const { annotations } = entry.item
  const hints = isRecord(annotations) ? { annotations } : {}
  const waits = approve.length > 0 && needsApproval(approve, { name: text(entry.item.name), ...hints })
  return { ...listedTool(entry), ...hints, ...waits && { approve: true } }
}

/** The entries of the lists of the service description. Missing texts are empty, never absent. */
const ENTRY: { readonly [K in ListKind]: (entry: ServerItem) => object } = {
  tools: listedTool,
  resources: ({ server, item }) => ({ uri: item.uri, name: text(item.name) || text(item.title) || item.uri, description: text(item.description), mimeType: text(item.mimeType), server }),
  templates: ({ server, item }) => ({ uriTemplate: item.uriTemplate, name: text(item.name), description: text(item.description), mimeType: text(item.mimeType), server }),
  prompts: ({ server, item }) => ({
    name: item.name,
    description: text(item.description),
    arguments: (Array.isArray(item.arguments) ? item.arguments : []).map(record).map(argument => ({ name: text(argument.name), description: text(argument.description), required: argument.required === true })),
    server
  })
}

const KEY = { tools: 'tools', resources: 'resources', templates: 'resourceTemplates', prompts: 'prompts' } as const

/** A status without what the process of the server printed and how it ended: other callers share the server. */
export function briefStatus ({ pid: _pid, exitCode: _exitCode, signal: _signal, missingEnv: _missing, unknownTools: _unknown, error, cause, stderr: _stderr, ...status }: UpstreamStatus): UpstreamStatus {
  return { ...status, cause, error: error === undefined || cause === undefined ? undefined : CAUSES[cause], stderr: [] }
}

/** The body of a list. */
export function listBody (kind: ListKind, items: readonly ServerItem[]): Record<string, unknown> {
  return { [KEY[kind]]: items.map(ENTRY[kind]) }
}

/**
 * The contents of a resource. Each has `text`, by the service description; binary content has `blob` and an empty
 * text.
 */
export function contentsBody ({ contents }: ToolResult): { contents: Array<Record<string, unknown>> } {
  return {
    contents: (Array.isArray(contents) ? contents : []).map(record).map(({ uri, mimeType, text: words, blob }) => ({
      ...typeof uri === 'string' && { uri },
      ...typeof mimeType === 'string' && { mimeType },
      text: text(words),
      ...typeof blob === 'string' && { blob }
    }))
  }
}
