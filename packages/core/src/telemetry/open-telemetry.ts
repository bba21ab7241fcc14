import type * as Api from '@opentelemetry/api'
import { VERSION } from '../basics/version.js'
import { loadedModule } from './load-open-telemetry.js'

export type OpenTelemetry = typeof Api

/** The module `@opentelemetry/api`; undefined where it is not installed or not loaded yet. */
export function openTelemetry (): OpenTelemetry | undefined {
  return loadedModule() as OpenTelemetry | undefined
}

/** The scope of all spans and instruments. */
const SCOPE = 'polyvac'

let known: Api.TracerProvider | undefined
let tracer: Api.Tracer | undefined

/** The tracer of the registered SDK; undefined without an SDK. Tests change the SDK. */
export function openTracer (api: OpenTelemetry | undefined): Api.Tracer | undefined {
  if (api === undefined) return undefined
  const provider = api.trace.getTracerProvider() as Api.TracerProvider & Partial<Api.ProxyTracerProvider>
  const delegate = provider.getDelegate?.() ?? provider
  if (delegate !== known) {
    known = delegate
    // the provider of the api makes spans that do nothing until an SDK is registered
    tracer = provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE, VERSION) : provider.getDelegateTracer(SCOPE, VERSION)
  }
  return tracer
}
