// The public API of @polyvac/documents/model, language models without documents: every export here is public and
// follows semantic versioning.
export { openaiInterpreter } from './interpreters/openai-interpreter.js'
export type { OpenaiInterpreterOptions } from './interpreters/openai-interpreter.js'
export { checkModel } from './model/model-server.js'
export type { FindOptions } from './model/model-server.js'
export { InvalidOptionError, ModelFailedError, ModelNotFoundError } from './errors.js'
