import type { ListKind } from './lists.js'
import { LEGACY_REVISIONS, MODERN_REVISIONS, type Revision } from './revisions.js'

/** What depends on the revision of a connection or a request. */
export interface Features {
  /** Several messages in one JSON array. */
  readonly batches: boolean
  /** Content blocks of type `audio`. */
  readonly audio: boolean
  /** Content blocks of type `resource_link`. */
  readonly resourceLinks: boolean
  /** Values that `structuredContent` may have, and `outputSchema` describe. */
  readonly structuredContent: 'none' | 'object' | 'any'
  /** Event streams begin with an event that has an id and no data, and a server may end them before the response. */
  readonly primingEvents: boolean
  /** Arguments that do not fit the input schema of a tool give a result with `isError` instead of -32602. */
  readonly toolErrorsAsResults: boolean
  /** `mode` of `elicitation/create`: `form` or `url`. */
  readonly elicitationModes: boolean
  /** Tasks as a part of the protocol: `params.task`, `tasks/list`, `tasks/result`. */
  readonly coreTasks: boolean
  /** Tasks as an extension: `io.modelcontextprotocol/tasks`. */
  readonly tasksExtension: boolean
  /** Results have `resultType`, the server's info and cache hints. */
  readonly resultTypes: boolean
}

/** Each revision as the changes that it makes to the one before. */
const CHANGES = {
  '2024-11-05': {
    batches: false,
    audio: false,
    resourceLinks: false,
    structuredContent: 'none',
    primingEvents: false,
    toolErrorsAsResults: false,
    elicitationModes: false,
    coreTasks: false,
    tasksExtension: false,
    resultTypes: false
  },
  '2025-03-26': { batches: true, audio: true },
  '2025-06-18': { batches: false, resourceLinks: true, structuredContent: 'object' },
  '2025-11-25': { primingEvents: true, toolErrorsAsResults: true, elicitationModes: true, coreTasks: true },
  '2026-07-28': {
    primingEvents: false, structuredContent: 'any', coreTasks: false, tasksExtension: true, resultTypes: true
  }
} as const satisfies Record<Revision, Partial<Features>>

const OLDEST_FIRST: readonly Revision[] = [...MODERN_REVISIONS, ...LEGACY_REVISIONS].reverse()

/** What each revision supports. */
export const features: Readonly<Record<Revision, Features>> = accumulate()

function accumulate (): Record<Revision, Features> {
  let current = CHANGES['2024-11-05'] as Features
  return byRevision(revision => (current = { ...current, ...CHANGES[revision] }))
}

/** The fields of each kind of definition, in the order in which they are sent. */
const FIELDS = {
  tools: ['name', 'title', 'description', 'icons', 'inputSchema', 'outputSchema', 'execution', 'annotations', '_meta'],
  resources: ['uri', 'name', 'title', 'description', 'icons', 'mimeType', 'size', 'annotations', '_meta'],
  templates: ['uriTemplate', 'name', 'title', 'description', 'icons', 'mimeType', 'annotations', '_meta'],
  prompts: ['name', 'title', 'description', 'icons', 'arguments', '_meta']
} as const satisfies Record<ListKind, readonly string[]>

/** The revision that brought a field, of all kinds or of one. The other fields are as old as the protocol. */
const SINCE: Readonly<Record<string, Revision>> = {
  'tools.annotations': '2025-03-26',
  title: '2025-06-18',
  outputSchema: '2025-06-18',
  _meta: '2025-06-18',
  icons: '2025-11-25',
  execution: '2025-11-25'
}

type DefinitionFields = Readonly<Record<ListKind, readonly string[]>>

/** The fields that a definition may have in each revision, in the order in which they are sent. */
export const definitionFields: Readonly<Record<Revision, DefinitionFields>> = byRevision(revision => {
  const since = (kind: string, field: string): Revision => SINCE[field] ?? SINCE[`${kind}.${field}`] ?? '2024-11-05'
  return Object.fromEntries(Object.entries(FIELDS).map(([kind, fields]) => {
    return [kind, fields.filter(field => since(kind, field) <= revision)]
  })) as unknown as DefinitionFields
})

function byRevision<T> (valueOf: (revision: Revision) => T): Record<Revision, T> {
  return Object.fromEntries(OLDEST_FIRST.map(revision => [revision, valueOf(revision)])) as Record<Revision, T>
}
