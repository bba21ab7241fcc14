/** Apart from `open-telemetry.ts`: declarations for applications must not need the types of an optional peer. */
import { isMissingModule } from '../basics/own-files.js'

const PACKAGE = '@opentelemetry/api'
/** Where the package keeps what an SDK registers, whichever copy of it the SDK has. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')
let loaded: unknown
let loading: Promise<void> | undefined

/**
 * Loads `@opentelemetry/api`, 44 modules, where an SDK is registered. Plugins call it when they are registered, so that
 * the hot paths need no import.
 */
export async function loadOpenTelemetry (): Promise<void> {
  if (!(REGISTERED in globalThis)) return
  loading ??= import(PACKAGE).then(api => { loaded = api }, (err: unknown) => {
    if (!isMissingModule(err, PACKAGE)) throw err
  })
  await loading
}

/** The module, once it is loaded. */
export function loadedModule (): unknown {
  return loaded
}
