// The public API of @polyvac/documents/model, language models without documents: every export here is public and
// follows semantic versioning.
export { openaiInterpreter } from './interpreters/openai-interpreter.js'
export type { OpenaiInterpreterOptions } from './interpreters/openai-interpreter.js'
export { InvalidOptionError, ModelFailedError, ModelNotFoundError } from './errors.js'
