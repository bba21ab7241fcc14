import { contentOf } from './capture-content.js'
import { EXECUTE_TOOL, OPERATION, TOOL_ARGUMENTS, TOOL_NAME, TOOL_RESULT } from './names.js'
import { isTraced, toolLabel, withSpan } from './spans.js'

/** Executes a call of a tool in the span `execute_tool <tool>`. A result with `isError` ends it with an error. */
export async function traceTool<T extends object> (tool: string, args: unknown, call: () => Promise<T>): Promise<T> {
  if (!isTraced()) return await call()
  return await withSpan(`${EXECUTE_TOOL} ${toolLabel(tool)}`, () => ({
    attributes: { [OPERATION]: EXECUTE_TOOL, [TOOL_NAME]: toolLabel(tool), [TOOL_ARGUMENTS]: contentOf(args) }
  }), async span => {
    const result = await call()
    span?.set(TOOL_RESULT, contentOf(result))
    if ((result as { isError?: unknown }).isError === true) span?.end('tool_error')
    return result
  })
}
