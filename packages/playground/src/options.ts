import { flag, isRecord, optional, type OptionRules } from '@polyvac/core/plugin'

/** Addresses of the public routes, relative to the page; null where a service does not have them. */
export interface PlaygroundRoutes {
  /** The direct routes. Default `../vac`. */
  readonly vac?: string | null | undefined
  /** The OpenAI-compatible routes. Default `openai/v1` next to `vac`, or null where this app has no such route. */
  readonly openai?: string | null | undefined
  /** The routes of the Responses API of OpenAI. Default as that of `openai`. */
  readonly responses?: string | null | undefined
  /** The message stream of the AI SDK. Default as that of `openai`, at `ai`. */
  readonly ai_sdk?: string | null | undefined
  /** AG-UI. Default as that of `openai`, at `ag-ui`. */
  readonly ag_ui?: string | null | undefined
  /** The JSON-RPC route of A2A; the routes of its description dialect are below it. Default `../a2a`. */
  readonly a2a?: string | null | undefined
  /** The agent card; the other discovery documents are next to it. Default `../.well-known/agent-card.json`. */
  readonly card?: string | null | undefined
  /** The MCP server. Default `../mcp`. */
  readonly mcp?: string | null | undefined
  /** The REST routes of the MCP gateway are below it. Default `../mcp`. */
  readonly gateway?: string | null | undefined
  /** Readiness with reasons. Default `../ready`. */
  readonly ready?: string | null | undefined
  /** The OpenAPI document. Default `../openapi.json`. */
  readonly openapi?: string | null | undefined
  /** The JSON index with example questions: `{ questions: { <vac>: [text] } }`. Default none. */
  readonly home?: string | null | undefined
}

/**
 * Values of CSS for the six variables of the page, in both colour schemes: `light-dark(#00f, #8af)` has one for each.
 * The page mixes its other colours from them.
 */
export interface PlaygroundTheme {
  readonly accent?: string | undefined
  /** Text on the accent. */
  readonly on_accent?: string | undefined
  readonly background?: string | undefined
  /** Behind lists and code. */
  readonly surface?: string | undefined
  readonly text?: string | undefined
  /** Names of fonts of the reader's machine. */
  readonly font?: string | undefined
}

export interface PlaygroundOptions {
  /** The heading of the page. Default `Polyvac`. */
  readonly title?: string | undefined
  /**
   * For production: the page hides tool calls, restarts, answers in the inbox and changes of stored conversations, and
   * asks only VACs. It does not restrict callers of the routes themselves. Default false.
   */
  readonly readOnly?: boolean | undefined
  /** Where the routes are, relative to the page, and null for those that the page must not look for. */
  readonly routes?: PlaygroundRoutes | undefined
  /** Colours and font of the page. */
  readonly theme?: PlaygroundTheme | undefined
  /** Where a person signs in, relative to the page: it goes there once where routes refuse a caller. Default none. */
  readonly signIn?: string | undefined
}

/** The variables of a theme. */
export const THEME = ['accent', 'on_accent', 'background', 'surface', 'text', 'font'] as const

/** A value of CSS that cannot end its declaration, nor load anything. */
const CSS_VALUE = /^(?!.*(?:url|image|src)\s*\()[\w\s#%.,()/"'-]{1,500}$/i

function isTheme (value: unknown): boolean {
  return isRecord(value) && Object.entries(value).every(([name, text]) =>
    THEME.includes(name as typeof THEME[number]) && (text === undefined || (typeof text === 'string' && CSS_VALUE.test(text))))
}

/** Types and defaults of the options. */
export const OPTIONS = {
  title: optional('a text', value => typeof value === 'string', 'Polyvac'),
  readOnly: flag(false),
  routes: optional('an object of addresses or null', isRecord),
  theme: optional(`an object of values of CSS, of ${THEME.join(', ')}`, isTheme),
  signIn: optional('an address', value => typeof value === 'string')
} satisfies OptionRules<PlaygroundOptions>

/** The addresses that hold where `routes` does not name one. */
export const ROUTES = {
  vac: '../vac',
  openai: '../openai/v1',
  responses: '../openai/v1',
  ai_sdk: '../ai',
  ag_ui: '../ag-ui',
  a2a: '../a2a',
  card: '../.well-known/agent-card.json',
  mcp: '../mcp',
  gateway: '../mcp',
  ready: '../ready',
  openapi: '../openapi.json',
  home: null
} satisfies Record<keyof PlaygroundRoutes, string | null>
