import { createError as createCodedError, type CodedErrorConstructor } from '@polyvac/core/plugin'

/** The codes of failed requests. protocol/failure-codes.ts has a row for each, or it does not compile. */
export type A2aCode =
  | 'A2A_INVALID_REQUEST' | 'A2A_WRONG_METHOD' | 'A2A_METHOD_NOT_FOUND' | 'A2A_METHOD_NOT_ALLOWED'
  | 'A2A_INVALID_PARAMS'
  | 'A2A_CONTENT_TYPE_NOT_SUPPORTED' | 'A2A_TASK_NOT_FOUND' | 'A2A_TASK_NOT_CANCELABLE' | 'A2A_TASK_NOT_WAITING'
  | 'A2A_TOO_MANY_STREAMS' | 'A2A_UNSUPPORTED_OPERATION' | 'A2A_PUSH_NOT_SUPPORTED' | 'A2A_PUSH_CONFIG_NOT_FOUND'
  | 'A2A_VERSION_NOT_SUPPORTED' | 'A2A_EXTENSION_REQUIRED' | 'A2A_EXTENDED_CARD_NOT_CONFIGURED'

/** The codes of failures at the start, which no caller sees. */
type StartCode = 'A2A_PLUGIN_OPTIONS' | 'A2A_GRPC_MISSING' | 'A2A_GRPC_CANNOT_LISTEN'

const createError: <Args extends unknown[] = []>(code: A2aCode | StartCode, message: string, status?: number) =>
CodedErrorConstructor<Args> = createCodedError

/** The envelope is not a JSON-RPC 2.0 request. Argument: the problem. */
export const InvalidEnvelopeError = createError<[string]>('A2A_INVALID_REQUEST', '%s', 400)

/** The path takes another method. Arguments: the method that it takes, the one of the request. */
export const WrongMethodError = createError<[string, string]>('A2A_WRONG_METHOD',
  "this path takes the method '%s', not %s", 400)

/** The params do not fit the method. Argument: every problem by its path. */
export const InvalidParamsError = createError<[string]>('A2A_INVALID_PARAMS', '%s', 400)

/** One text, without the id, for unknown tasks and those of another owner: both answers must be byte-identical. */
export const NoSuchTaskError = createError('A2A_TASK_NOT_FOUND',
  'there is no task of this id; tasks/list names yours', 404)

/** The task has ended. Argument: its state. */
export const NotCancelableError = createError<[string]>('A2A_TASK_NOT_CANCELABLE',
  'the task is %s already and cannot be canceled', 409)

/** The task does not wait for input. Argument: its state. */
export const NotWaitingError = createError<[string]>('A2A_TASK_NOT_WAITING',
  'the task is %s and waits for no input; leave out `taskId` to begin another one', 409)

/** Push notifications are switched off. */
export const PushNotSupportedError = createError('A2A_PUSH_NOT_SUPPORTED',
  'push notifications are switched off here; subscribe with tasks/sendSubscribe', 400)

/** The task has no such push config. Without arguments, see NoSuchTaskError. */
export const NoSuchPushConfigError = createError('A2A_PUSH_CONFIG_NOT_FOUND',
  'the task has no such push notification config', 404)

/** One caller, or all together, hold as many streams as they may. Argument: who, and the limit. */
export const TooManyStreamsError = createError<[string]>('A2A_TOO_MANY_STREAMS',
  '%s tasks already; end one, or use push notifications', 429)

/** The agent does not support this. Argument: what it does not support, and the remedy. */
export const UnsupportedOperationError = createError<[string]>('A2A_UNSUPPORTED_OPERATION', '%s', 400)

/**
 * The media type of the body, or of a part of the message, is not accepted. Argument: which one, and those that are.
 */
export const ContentTypeNotSupportedError = createError<[string]>('A2A_CONTENT_TYPE_NOT_SUPPORTED', '%s', 400)

/** The agent does not support the version, or not for this method. Argument: the remedy. */
export const VersionNotSupportedError = createError<[string]>('A2A_VERSION_NOT_SUPPORTED', '%s', 400)

/** There is no such method. Argument: the version of the request. */
export const MethodNotFoundError = createError<[string]>('A2A_METHOD_NOT_FOUND',
  'A2A %s has no such method; 1.0 spells them like SendMessage, 0.3 like message/send', 404)

/** The HTTP binding has no such path, or not with this verb. */
export const NoSuchPathError = createError('A2A_METHOD_NOT_FOUND',
  'the HTTP binding of A2A 1.0 has no such path with this verb; ' +
  'it has those like POST message:send, GET tasks/{id} and POST tasks/{id}:cancel', 404)

/** The path has no such verb. Arguments: the verbs that it takes, the one of the request. */
export const MethodNotAllowedError = createError<[string, string]>('A2A_METHOD_NOT_ALLOWED',
  'this path takes %s, not %s', 405)

/** The agent requires an extension that the client does not name. Argument: its URI. */
export const ExtensionRequiredError = createError<[string]>('A2A_EXTENSION_REQUIRED',
  "this agent requires the extension '%s'; name it in A2A-Extensions", 400)

/** There is no extended card for this caller. */
export const ExtendedCardNotConfiguredError = createError('A2A_EXTENDED_CARD_NOT_CONFIGURED',
  'there is no extended agent card for you; the public one has all', 400)

/** One problem of the params, where the protocol names fields. */
export interface FieldViolation { readonly field: string, readonly description: string }

/** Params that do not fit, field by field. */
export class InvalidFieldsError extends InvalidParamsError {
  constructor (readonly violations: readonly FieldViolation[]) {
    super(violations.map(({ field, description }) => `${field}: ${description}`).join('; '))
  }
}

/** The plugin cannot use an option. Argument: the problem. */
export const A2aOptionsError = createError<[string]>('A2A_PLUGIN_OPTIONS', '%s', 500)

/** A package that only gRPC needs is not installed. Argument: its name. */
export const GrpcMissingError = createError<[string]>('A2A_GRPC_MISSING',
  'gRPC needs the package %s; npm install @grpc/grpc-js@1 protobufjs@7', 500)

/** The gRPC server cannot bind its port. Arguments: the address, the reason. */
export const GrpcCannotListenError = createError<[string, string]>('A2A_GRPC_CANNOT_LISTEN',
  'gRPC cannot listen on %s: %s; choose another port or host', 500)
