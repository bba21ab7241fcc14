// The public API of @polyvac/tasks/sqlite: every export here is public and follows semantic versioning.
export { sqliteTaskStore } from './store.js'
export type { SqliteTaskStoreOptions } from './options.js'
