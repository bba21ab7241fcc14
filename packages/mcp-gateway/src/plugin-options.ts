import type { Authenticate } from '@polyvac/core'
import { BODY_BYTES, callback, flag, integer, oneOf, readOptions, text, withMethod, type OptionRules, type ReadOptions } from '@polyvac/core/plugin'
import { GatewayOptionsError } from './errors.js'
import type { Gateway } from './gateway.js'
import { GATEWAY_RULES, SERVERS, type GatewayOptions } from './options.js'

export interface McpGatewayOptions extends Omit<GatewayOptions, 'servers'> {
  /** The servers, for a gateway that starts and ends with the plugin. */
  readonly servers?: GatewayOptions['servers'] | undefined
  /** A gateway that the application created and closes, instead of `servers`. */
  readonly gateway?: Gateway | undefined
  /**
   * Names the caller; undefined refuses the request with 401. Default: no check, the scope around the plugin decides.
   * Only the caller that began a call can resume it with `requestState`.
   */
  readonly authenticate?: Authenticate | undefined
  /** Whether OpenAPI documents of the application, of @fastify/swagger for example, have the routes. Default true. */
  readonly openapi?: boolean | undefined
  /** The public address of the service, behind a proxy, for OpenAPI documents. Default: from the request. */
  readonly publicUrl?: string | undefined
  /** Largest request body in bytes; a larger one is refused with 413. Default 4 MiB. */
  readonly bodyLimit?: number | undefined
  /**
   * Whose error handler answers a failed request: `app` is that of the scope around the plugin, which gets the error
   * with its `statusCode` and `code`. Default `plugin`, which sends `{ error, code, server, tool, details }`.
   */
  readonly errorHandler?: 'plugin' | 'app' | undefined
}

/** Types, bounds and defaults of the options. */
export const PLUGIN_RULES = {
  ...GATEWAY_RULES,
  servers: SERVERS,
  gateway: withMethod('toolSource', 'a gateway made by createGateway()'),
  authenticate: callback(),
  openapi: flag(true),
  publicUrl: text(),
  bodyLimit: integer(BODY_BYTES),
  errorHandler: oneOf(['plugin', 'app'], 'plugin')
} satisfies OptionRules<McpGatewayOptions>

/** @throws MCP_GATEWAY_OPTIONS */
export function readPluginOptions (options: McpGatewayOptions): ReadOptions<McpGatewayOptions, typeof PLUGIN_RULES> {
  return readOptions(PLUGIN_RULES, options, GatewayOptionsError, 'the mcp-gateway plugin')
}
