import { RpcError } from '@polyvac/mcp-server'
import { setTimeout as delay } from 'node:timers/promises'
import { embedded, image, text, WAV } from './content.mjs'

const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

export const says = words => ({ content: [text(words)] })
export const tool = (name, description, run, more = {}) => ({ name, description, inputSchema: NOTHING, ...more, run })
const strings = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])), required: names })

export const form = (message, properties, required) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } }
})
const sampling = (words, maxTokens) => ({ method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: text(words) }], maxTokens } })
export const askName = form('What is your name?', { name: { type: 'string' } }, ['name'])
export const contentOf = answer => answer.content ?? {}

const contentTools = [
  tool('test_simple_text', 'Plain text.', () => says('This is a simple text response for testing.')),
  tool('test_image_content', 'An image.', () => ({ content: [image] })),
  tool('test_audio_content', 'A sound.', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })),
  tool('test_embedded_resource', 'A resource.', () => ({ content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')] })),
  tool('test_multiple_content_types', 'Three kinds of content.', () => ({
    content: [text('Multiple content types test:'), image, embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')]
  })),
  tool('test_error_handling', 'Fails.', () => ({ content: [text('This tool intentionally returns an error for testing')], isError: true })),
  tool('json_schema_2020_12_tool', 'Keywords of JSON Schema 2020-12.', args => says(JSON.stringify(args)), {
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' }
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false
    }
  }),
  tool('test_header_tool', 'An argument that is repeated as a header.', ({ region }) => says(`region: ${String(region)}`), {
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
  })
]

const streamingTools = [
  tool('test_tool_with_logging', 'Logs while it works.', async (_args, context) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await context.message({ level: 'info', data })
      await delay(50)
    }
    return says('The tool has logged three times.')
  }),
  tool('test_tool_with_progress', 'Tells how far it is.', async (_args, context) => {
    for (const progress of [0, 50, 100]) {
      await context.progress({ progress, total: 100 })
      await delay(50)
    }
    return says('The tool is done.')
  }),
  tool('test_reconnection', 'Ends its connection and answers over the next one.', async (_args, context) => {
    context.disconnect(500)
    await delay(200)
    return says('The connection ended, and this is the answer.')
  }),
  tool('test_logging_tool', 'Logs, where the caller wants that.', async (_args, context) => {
    await context.message({ level: 'info', logger: 'fixture', data: 'a log message' })
    return says('logged')
  })
]

const askingTools = [
  tool('test_sampling', 'Lets the client\'s model answer.', async ({ prompt }, context) => {
    const { answer } = await context.ask({ answer: sampling(String(prompt), 100) })
    return says(`LLM response: ${JSON.stringify(answer.content.text)}`)
  }, { inputSchema: strings('prompt') }),
  tool('test_elicitation', 'Asks the user.', async ({ message }, context) => {
    const { answer: { action, content } } = await context.ask({
      answer: form(String(message), { username: { type: 'string', description: 'User\'s response' }, email: { type: 'string', description: 'User\'s email address' } }, ['username', 'email'])
    })
    return says(`User response: action=${String(action)}, content=${JSON.stringify(content)}`)
  }, { inputSchema: strings('message') }),
  tool('test_elicitation_sep1034_defaults', 'Asks with defaults.', async (_args, context) => {
    const { answer: { action, content } } = await context.ask({
      answer: form('Please check these values', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true }
      }, [])
    })
    return says(`Elicitation completed: action=${String(action)}, content=${JSON.stringify(content)}`)
  }),
  tool('test_elicitation_sep1330_enums', 'Asks with choices.', async (_args, context) => {
    const titled = ['First', 'Second', 'Third'].map((word, at) => ({ const: `value${at + 1}`, title: `${word} Option` }))
    const { answer: { action, content } } = await context.ask({
      answer: form('Please choose', {
        untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
        titledMulti: { type: 'array', items: { anyOf: titled } }
      }, [])
    })
    return says(`Elicitation completed: action=${String(action)}, content=${JSON.stringify(content)}`)
  }),
  tool('test_missing_capability', 'Needs sampling.', async (_args, context) => {
    await context.ask({ answer: sampling('Are you there?', 10) })
    return says('sampled')
  }),
  tool('test_streaming_elicitation', 'Tells its progress, then asks.', async (_args, context) => {
    await context.progress({ progress: 1, total: 2 })
    const { user_name: answer } = await context.ask({ user_name: askName })
    return says(`Hello, ${String(contentOf(answer).name)}!`)
  })
]

const roundTripTools = [
  tool('test_input_required_result_elicitation', 'Asks for a name.', async (_args, context) => {
    const { user_name: answer } = await context.ask({ user_name: askName })
    return says(`Hello, ${String(contentOf(answer).name)}!`)
  }),
  tool('test_input_required_result_sampling', 'Asks a model.', async (_args, context) => {
    const { capital_question: answer } = await context.ask({ capital_question: sampling('What is the capital of France?', 100) })
    return says(JSON.stringify(answer.content))
  }),
  tool('test_input_required_result_list_roots', 'Asks for roots.', async (_args, context) => {
    const { client_roots: answer } = await context.ask({ client_roots: { method: 'roots/list' } })
    return says(JSON.stringify(answer.roots))
  }),
  ...['test_input_required_result_request_state', 'test_input_required_result_tampered_state'].map(name => tool(name, 'Asks with a state.', async (_args, context) => {
    await context.ask({ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) })
    return says('state-ok')
  })),
  tool('test_input_required_result_multiple_inputs', 'Asks three questions at once.', async (_args, context) => {
    const answers = await context.ask({ user_name: askName, greeting: sampling('Generate a greeting', 50), client_roots: { method: 'roots/list' } })
    return says(JSON.stringify(answers))
  }),
  tool('test_input_required_result_multi_round', 'Asks twice.', async (_args, context) => {
    const { step1 } = await context.ask({ step1: form('Step 1: What is your name?', { name: { type: 'string' } }, ['name']) })
    const { step2 } = await context.ask({ step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']) })
    return says(`${String(contentOf(step1).name)} likes ${String(contentOf(step2).color)}`)
  }),
  tool('test_input_required_result_capabilities', 'Asks what the client can answer.', async (_args, context) => {
    const { elicitation, sampling: samples, roots } = context.capabilities
    const answers = await context.ask({
      ...elicitation !== undefined && { user_name: askName },
      ...samples !== undefined && { greeting: sampling('Generate a greeting', 50) },
      ...roots !== undefined && { client_roots: { method: 'roots/list' } }
    })
    return says(JSON.stringify(answers))
  })
]

const taskTools = [
  tool('greet', 'Greets.', ({ name }) => says(`Hello, ${String(name)}!`), { inputSchema: strings('name') }),
  tool('slow_compute', 'Takes its time.', async ({ seconds = 0, label = '' }, { signal }) => {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, Number(seconds) * 1000)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
    return says(`${String(label)} took ${String(seconds)} s`)
  }, { inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } }, taskSupport: 'optional' }),
  tool('failing_job', 'Fails after a second.', async () => {
    await delay(1_000)
    return { ...says('The job failed.'), isError: true }
  }, { taskSupport: 'required' }),
  tool('protocol_error_job', 'Fails in the protocol.', async () => {
    await delay(100)
    throw new RpcError('internalError', 'the job broke')
  }, { taskSupport: 'optional' }),
  tool('test_tool_with_task', 'Asks, then goes on as a task.', ({ user_name: name }) => says(`The task ran for ${String(name)}.`), {
    inputSchema: { type: 'object', properties: {} }, taskSupport: 'required'
  }),
  tool('confirm_delete', 'Asks before it pretends to delete.', async ({ filename }, context) => {
    const { confirm: { action } } = await context.ask({ confirm: form(`Delete ${String(filename)}?`, { confirm: { type: 'boolean' } }, ['confirm']) })
    return says(action === 'accept' ? `${String(filename)} is deleted` : `${String(filename)} stays`)
  }, { inputSchema: { type: 'object', properties: { filename: { type: 'string' } } }, taskSupport: 'optional' }),
  tool('multi_input', 'Asks two questions at once.', async (_args, context) => {
    const { first, second } = await context.ask({
      first: form('First?', { value: { type: 'string' } }, ['value']),
      second: form('Second?', { value: { type: 'string' } }, ['value'])
    })
    return says(JSON.stringify([contentOf(first), contentOf(second)]))
  }, { taskSupport: 'optional' })
]

export const tools = [...contentTools, ...streamingTools, ...askingTools, ...roundTripTools, ...taskTools]
