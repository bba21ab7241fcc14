import createError from '@fastify/error'

/** The envelope is no JSON-RPC 2.0 request. Argument: what is wrong with it. */
export const InvalidEnvelopeError = createError<[string]>('A2A_INVALID_REQUEST', '%s', 400)

/** The path takes another method. Arguments: the method that it takes, the one that came. */
export const WrongMethodError = createError<[string, string]>('A2A_WRONG_METHOD',
  "this path takes the method '%s', not %s", 400)

/** The params do not fit the method. Argument: every problem by its path. */
export const InvalidParamsError = createError<[string]>('A2A_INVALID_PARAMS', '%s', 400)

/** One text for unknown and foreign tasks alike, and no id in it: both answers are the same bytes. */
export const NoSuchTaskError = createError('A2A_TASK_NOT_FOUND', 'there is no task of this id; tasks/list names yours', 404)

/** The task has ended. Argument: its state. */
export const NotCancelableError = createError<[string]>('A2A_TASK_NOT_CANCELABLE', 'the task is %s already and cannot be canceled', 409)

/** The task asks for nothing. Argument: its state. */
export const NotWaitingError = createError<[string]>('A2A_TASK_NOT_WAITING',
  'the task is %s and waits for no input; leave out `taskId` to begin another one', 409)

/** Push notifications are switched off. No argument. */
export const PushNotSupportedError = createError('A2A_PUSH_NOT_SUPPORTED',
  'push notifications are switched off here; subscribe with tasks/sendSubscribe', 400)

/** The task has no such push config. No argument: see NoSuchTaskError. */
export const NoSuchPushConfigError = createError('A2A_PUSH_CONFIG_NOT_FOUND', 'the task has no such push notification config', 404)

/** One caller holds as many streams as it may. Argument: the limit. */
export const TooManyStreamsError = createError<[number]>('A2A_TOO_MANY_STREAMS',
  'this caller follows %s tasks already; end one, or use push notifications', 429)

/** The plugin is given something that it cannot use. Argument: what and why. */
export const A2aOptionsError = createError<[string]>('A2A_PLUGIN_OPTIONS', '%s', 500)
