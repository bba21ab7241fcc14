// An agent: a language model that calls the tools of the MCP servers in vac_config.yaml.
import OpenAI from 'openai'

/** Most turns of the model in one answer, so that a model that only calls tools comes to an end. */
const MAX_TURNS = 8

/** Longest result of a tool that the model reads, in characters. */
const MAX_RESULT_CHARS = 20_000

const INSTRUCTIONS = 'You answer briefly. Use the tools for facts. If something is missing that only the user knows, call ask_user.'

/** A tool of this module: the model asks the user. */
const ASK_USER = toFunction('ask_user', 'Ask the user for what is missing. The user answers in the next message.', {
  type: 'object', properties: { question: { type: 'string' } }, required: ['question']
})

/** Answers one question. Text is sent on as the model makes it; every protocol of the service calls this function. */
export async function * stream_interpreter (question, vectorName, history, { signal, log, vac, listTools, callTool }) {
  const { base_url: baseURL, api_key: apiKey = 'none', model = vac.model } = vac.openai ?? {}
  const client = new OpenAI({ baseURL, apiKey })
  const tools = new Map()
  for (const tool of await listTools?.() ?? []) tools.set(functionName(tool), tool)
  const functions = [...tools].map(([name, { description, inputSchema }]) => toFunction(name, description, inputSchema))

  const messages = [{ role: 'system', content: INSTRUCTIONS }, ...history, { role: 'user', content: question }]
  let answer = ''
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    // the signal aborts the request when the caller disconnects or cancels: the model stops, too
    const stream = client.chat.completions.stream({ model, messages, tools: [...functions, ASK_USER] }, { signal })
    try {
      for await (const { choices: [choice] } of stream) {
        const text = choice?.delta.content ?? ''
        answer += text
        if (text !== '') yield text
      }
    } catch (err) {
      signal.throwIfAborted()
      throw modelFailed(err, baseURL, model)
    }
    const { message } = (await stream.finalChatCompletion()).choices[0]
    const calls = message.tool_calls ?? []
    if (calls.length === 0) {
      yield { answer, source_documents: [], metadata: { model, turns: turn + 1 } }
      return
    }

    messages.push(message)
    for (const { id, function: { name, arguments: text } } of calls) {
      if (name === ASK_USER.function.name) {
        // the answer comes as the next question, with this conversation as its history
        yield { input_required: toArguments(text).question ?? 'What do you mean?' }
        return
      }
      yield { progress: turn / MAX_TURNS, message: `calling ${name}` }
      messages.push({ role: 'tool', tool_call_id: id, content: await run(name, text) })
    }
  }
  throw new Error(`the model called tools in each of its ${MAX_TURNS} turns, and gave no answer`)

  /** Calls a tool. The model reads a failure as well, and can correct its arguments. */
  async function run (name, text) {
    const tool = tools.get(name)
    if (tool === undefined) return `There is no tool ${name}.`
    try {
      const result = await callTool(tool.server, tool.name, toArguments(text), { signal })
      return textOf(result).slice(0, MAX_RESULT_CHARS)
    } catch (err) {
      signal.throwIfAborted()
      log.warn({ tool: name, err }, 'a tool failed')
      return `The call failed: ${err.message}`
    }
  }
}

/** Callers read the text of this error, since it is marked to be exposed: the cause, and what helps. */
function modelFailed (err, baseURL, model) {
  const remedy = err.status === undefined
    ? 'start a model server, such as `ollama serve`, or name another one in MODEL_URL'
    : err.status === 404 ? `pull the model, such as \`ollama pull ${model}\`, or name another one in MODEL_NAME` : 'read what it needs, such as MODEL_KEY'
  return Object.assign(new Error(`the model server ${baseURL} failed: ${err.message}; ${remedy}`), { code: 'MODEL_FAILED', statusCode: 502, expose: true })
}

/** A name of letters, digits, _ and -, as models take it. */
function functionName ({ server, name }) {
  return `${server}__${name}`.replace(/[^\w-]/g, '_').slice(0, 64)
}

function toFunction (name, description, parameters) {
  return { type: 'function', function: { name, description, parameters } }
}

/** The arguments of a call; a model may write none, or JSON that is cut off. */
function toArguments (text) {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return {}
  }
}

/** The text of a tool's result; of other content only its type. */
function textOf ({ content = [], structuredContent }) {
  const texts = content.map(item => item.type === 'text' ? item.text : `(${item.type})`)
  return texts.join('\n') || JSON.stringify(structuredContent ?? {})
}
