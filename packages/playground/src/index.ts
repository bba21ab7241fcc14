// The public API of @polyvac/playground: every export here is public and follows semantic versioning.
export { playgroundPlugin, playgroundPlugin as default, sendPage } from './plugin.js'
export type { PlaygroundOptions, PlaygroundRoutes, PlaygroundTheme } from './options.js'
