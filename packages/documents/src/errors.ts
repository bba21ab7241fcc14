import { createError } from '@polyvac/core/plugin'

/** The folder to index does not exist, or is not a folder. Arguments: path, reason. */
export const FolderNotFoundError = createError<[string, string]>('DOCUMENTS_FOLDER_NOT_FOUND',
  "cannot index '%s': %s; set `path` to a folder that this process can read", 500)

/** An argument of a search is out of its range. Arguments: name, value, range. */
export const InvalidSearchError = createError<[string, string, string]>('DOCUMENTS_INVALID_SEARCH',
  "search argument '%s' is %s; give %s", 400)

/** An option is unknown, has the wrong type or is out of its range. Argument: which and why. */
export const InvalidOptionError = createError<[string]>('DOCUMENTS_INVALID_OPTION', '%s', 500)

/** The index file cannot be opened or written. Arguments: path, reason. */
export const IndexFileError = createError<[string, string]>('DOCUMENTS_INDEX_FILE',
  "cannot use the index file '%s': %s; set `indexFile`, which is `index_file` in the configuration, to a path that this process can write, or to ':memory:'", 500)

/** The index file is a database of another program; the folder memory moves it aside. No argument. */
export const IndexNotOursError = createError('DOCUMENTS_INDEX_NOT_OURS',
  'the index file is a database of another program; name another file', 500)

/** A search or refresh was called after `close()`. Argument: the folder. */
export const ClosedError = createError<[string]>('DOCUMENTS_CLOSED',
  "'%s' is closed; open it again to search it", 503)

/** A language model is needed, and none is configured or found. Argument: the reason. */
export const ModelNotFoundError = createError<[string]>('DOCUMENTS_MODEL_NOT_FOUND',
  'no language model: %s; set `openai: { base_url, model }` in the VAC or OPENAI_BASE_URL in the environment', 502)

/** The language model failed. Arguments: base URL, reason. */
export const ModelFailedError = createError<[string, string]>('DOCUMENTS_MODEL_FAILED',
  "the language model at '%s' failed: %s; see the log, and check that server", 502)

/** A model server answers with a redirect. Arguments: base URL, origin of the target. */
export const ModelRedirectError = createError<[string, string]>('DOCUMENTS_MODEL_REDIRECT',
  "the model server at '%s' redirects to %s, and questions and keys are not sent on; set `base_url` to the final URL", 502)

/** A model is configured, and the optional packages that call it are not installed. Argument: the packages. */
export const ModelSdkMissingError = createError<[string]>('DOCUMENTS_MODEL_SDK_MISSING',
  'a model is configured, and the packages that call it are not installed; run `npm install %s`', 502)
