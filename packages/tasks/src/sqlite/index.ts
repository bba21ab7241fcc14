export { sqliteTaskStore } from './store.js'
export type { SqliteTaskStoreOptions } from './options.js'
