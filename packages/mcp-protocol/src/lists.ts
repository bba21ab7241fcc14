/** What servers list, and how: one table for the lists, the capabilities and the notifications. */
export const LISTS = {
  tools: list('tools', { method: 'tools/list', key: 'tools', id: 'name' }),
  resources: list('resources', { method: 'resources/list', key: 'resources', id: 'uri' }),
  templates: list('resources', { method: 'resources/templates/list', key: 'resourceTemplates', id: 'uriTemplate' }),
  prompts: list('prompts', { method: 'prompts/list', key: 'prompts', id: 'name' })
}

export type ListKind = keyof typeof LISTS

export const LIST_KINDS = Object.keys(LISTS) as ListKind[]

/** Adds the notification of a change, and the member of `subscriptions/listen` that requests it. */
function list<const C extends string, const Names extends object> (capability: C, names: Names) {
  const changed = `notifications/${capability}/list_changed` as const
  return { ...names, capability, changed, listenKey: `${capability}ListChanged` as const }
}
