// The public API of @polyvac/documents: every export here is public and follows semantic versioning.
export { openFolder } from './folder/folder-memory.js'
export type { FolderMemory, IndexStats } from './folder/folder-memory.js'
export type { EmbedOptions, FolderOptions, IndexProgress } from './folder/folder-options.js'
export type { LeftOut, LeftOutReason } from './folder/left-out.js'
export { documentsInterpreter } from './interpreters/documents-interpreter.js'
export type { AnswerMode, DocumentsInterpreterOptions } from './interpreters/documents-interpreter.js'
export { combineMemories } from './folder/combine-memories.js'
export { PassageIndex } from './search/passage-index.js'
export type { FoundPassage, IndexedDocument } from './search/passage-index.js'
export { indexTools } from './tools/tool-index.js'
export { splitDocument } from './formats/split-document.js'
export type { Passage } from './text/passages.js'
export type { QueryTerm, QueryTerms, WeightedMemory } from './search/query-terms.js'
export {
  ClosedError, FolderNotFoundError, IndexFileError, IndexNotOursError, InvalidOptionError, InvalidSearchError,
  ModelFailedError, ModelNotFoundError
} from './errors.js'
