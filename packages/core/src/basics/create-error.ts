import createFastifyError, { type FastifyErrorConstructor } from '@fastify/error'

/** A coded error; `expose` states whether callers may read its text, as in http-errors and Koa. */
export type CodedErrorConstructor<Args extends unknown[]> =
  FastifyErrorConstructor<{ code: string, statusCode: number, readonly expose: boolean }, Args>

/**
 * Makes a class of errors with a code, a status and a text.
 * @param options.expose whether callers may read the text of an error with status 500 or above; below 500 they always
 * may
 */
export function createError<Args extends unknown[] = []> (code: string, message: string, status = 500,
  { expose = status < 500 }: { readonly expose?: boolean } = {}): CodedErrorConstructor<Args> {
  const CodedError = createFastifyError(code, message, status)
  // on the prototype and not enumerable: loggers and tests see the same own properties as before
  Object.defineProperty(CodedError.prototype, 'expose', { value: expose })
  return CodedError as unknown as CodedErrorConstructor<Args>
}

/** Whether the text of an error was written for callers: `expose` is true. */
export function isExposed (err: unknown): err is Error & { readonly expose: true, readonly code?: unknown } {
  return err instanceof Error && (err as { expose?: unknown }).expose === true
}

/** The status of an error for a response: its `statusCode` or `status`, if that is from 400 to 599. */
export function statusOf (err: unknown): number | undefined {
  if (typeof err !== 'object' || err === null) return undefined
  const { statusCode, status } = err as { statusCode?: unknown, status?: unknown }
  return [statusCode, status].find(value => Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600) as number | undefined
}

/** Properties of the errors of HTTP clients: they describe a response that the application received. */
const RESPONSE_KEYS = ['response', 'request', 'headers']

/**
 * Whether an interpreter made an error for its caller: `expose` is true, or it has a status below 500 and a code. The
 * errors of HTTP clients and of tool calls have these as well and stay hidden: their text is about another server.
 */
export function isForCaller (err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const { expose, code } = err as { expose?: unknown, code?: unknown }
  if (typeof code === 'string' && code.startsWith('MCP_')) return false
  if (expose !== undefined) return expose === true
  return typeof code === 'string' && (statusOf(err) ?? 500) < 500 && !RESPONSE_KEYS.some(key => key in err)
}
