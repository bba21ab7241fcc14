/** What servers list, and how: one table for the lists, the capabilities and the notifications. */
export const LISTS = {
  tools: { method: 'tools/list', key: 'tools', id: 'name', capability: 'tools', changed: 'notifications/tools/list_changed', listenKey: 'toolsListChanged' },
  resources: { method: 'resources/list', key: 'resources', id: 'uri', capability: 'resources', changed: 'notifications/resources/list_changed', listenKey: 'resourcesListChanged' },
  templates: { method: 'resources/templates/list', key: 'resourceTemplates', id: 'uriTemplate', capability: 'resources', changed: 'notifications/resources/list_changed', listenKey: 'resourcesListChanged' },
  prompts: { method: 'prompts/list', key: 'prompts', id: 'name', capability: 'prompts', changed: 'notifications/prompts/list_changed', listenKey: 'promptsListChanged' }
} as const

export type ListKind = keyof typeof LISTS

export const LIST_KINDS = Object.keys(LISTS) as ListKind[]
