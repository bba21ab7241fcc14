// The public API of @polyvac/documents: every export here is public and follows semantic versioning.
export { openFolder } from './folder-memory.js'
export type { FolderMemory, IndexStats } from './folder-memory.js'
export type { EmbedOptions, FolderOptions, IndexProgress } from './folder-options.js'
export { documentsInterpreter } from './documents-interpreter.js'
export type { AnswerMode, DocumentsInterpreterOptions } from './documents-interpreter.js'
export { openaiInterpreter } from './openai-interpreter.js'
export type { OpenaiInterpreterOptions } from './openai-interpreter.js'
export { echoInterpreter } from './echo-interpreter.js'
export { combineMemories } from './combine-memories.js'
export { PassageIndex } from './passage-index.js'
export type { FoundPassage, IndexedDocument } from './passage-index.js'
export { splitDocument } from './split-document.js'
export type { Passage } from './passages.js'
export type { QueryTerm, QueryTerms, WeightedMemory } from './query-terms.js'
export {
  ClosedError, EchoError, FolderNotFoundError, IndexFileError, IndexNotOursError, InvalidOptionError, InvalidSearchError,
  ModelFailedError, ModelNotFoundError
} from './errors.js'
