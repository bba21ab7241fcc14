// The public API of @polyvac/tasks/postgres: every export here is public and follows semantic versioning.
export { migratePostgres } from './migrate.js'
export { postgresTaskStore } from './store.js'
export type { PostgresPool, PostgresTaskStoreOptions } from './options.js'
