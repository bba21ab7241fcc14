/** Apart from `open-telemetry.ts`: declarations for applications must not need the types of an optional peer. */
import { isMissingModule } from '../basics/own-files.js'

const PACKAGE = '@opentelemetry/api'
let loaded: unknown
let loading: Promise<void> | undefined

/**
 * Loads `@opentelemetry/api` where the application has installed it. Plugins call it when they are registered, so that
 * the hot paths need no import.
 */
export function loadOpenTelemetry (): Promise<void> {
  loading ??= import(PACKAGE).then(api => { loaded = api }, (err: unknown) => {
    if (!isMissingModule(err, PACKAGE)) throw err
  })
  return loading
}

/** The module, once it is loaded. */
export function loadedModule (): unknown {
  return loaded
}
