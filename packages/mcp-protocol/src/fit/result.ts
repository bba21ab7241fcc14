import { features, type Features } from '../features.js'
import { isRecord } from '../is-record.js'
import { RELATED_TASK } from '../meta-keys.js'
import type { Revision } from '../revisions.js'
import { fitBlock, fitBlocks, fitContents, textBlock, type Block } from './content.js'
import { fitFields, flag, shapeOf, type Fields, type Fit } from './values.js'

/** Values of one completion (specification, completion). */
const MAX_COMPLETION_VALUES = 100

const META = shapeOf({
  progressToken: value => typeof value === 'string' || Number.isSafeInteger(value) ? value : undefined,
  [RELATED_TASK]: value => isRecord(value) && typeof value.taskId === 'string' ? value : undefined
})
const meta: Fit = value => isRecord(value) ? fitFields(value, META) : undefined

/**
 * The parts of a tool's result that a revision has, in the shape of the revision.
 * @param outputSchema that of the tool: null is a structured value only of a tool whose schema is not that of an object
 */
export function fitToolResult (result: Fields, revision: Revision, outputSchema?: unknown): Fields {
  const { structuredContent: given, isError } = result
  const { structuredContent: values } = features[revision]
  const isAbsent = given === null && (!isRecord(outputSchema) || outputSchema.type === 'object')
  const structuredContent = isAbsent ? undefined : given
  const blocks = fitBlocks(result.content, features[revision])
  const isMissing = blocks.length === 0 && structuredContent !== undefined
  const hasStructure = values === 'any' || (values === 'object' && isRecord(structuredContent))
  return {
    content: isMissing ? [textBlock(JSON.stringify(structuredContent))] : blocks,
    structuredContent: hasStructure ? structuredContent : undefined,
    // a failure must not look like a success
    isError: isError === 'true' ? true : flag(isError),
    _meta: meta(result._meta)
  }
}

/** The result of `resources/read`. */
export function fitReadResult (result: Fields, uri: string): Fields {
  return { contents: fitContents(result.contents, uri), _meta: meta(result._meta) }
}

/** The result of `prompts/get`. */
export function fitPromptResult ({ description, messages, _meta }: Fields, revision: Revision): Fields {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : messages === undefined || messages === null ? [] : [messages]
  return {
    description: typeof description === 'string' ? description : undefined,
    messages: list.flatMap(message => fitMessage(message, features[revision])),
    _meta: meta(_meta)
  }
}

/** A message for each block: some servers send lists. */
function fitMessage (message: unknown, features: Features): readonly Fields[] {
  const { role, content } = isRecord(message) ? message : { role: 'user', content: message }
  const known = role === 'assistant' || role === 'model' ? 'assistant' : 'user'
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map(block => fitBlock(block, features)).filter((block): block is Block => block !== undefined)
    .map(block => role === known && block === content ? message as Fields : { role: known, content: block })
}

/** The completion of `completion/complete`. */
export function fitCompletion (completion: unknown): Fields {
  const { values, total, hasMore } = isRecord(completion) ? completion : {}
  const texts = (Array.isArray(values) ? values as unknown[] : [])
    .filter(value => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean').map(String)
  return {
    values: texts.slice(0, MAX_COMPLETION_VALUES),
    total: Number.isSafeInteger(total) ? total : undefined,
    hasMore: flag(hasMore) ?? texts.length > MAX_COMPLETION_VALUES
  }
}
