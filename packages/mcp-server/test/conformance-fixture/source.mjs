import { embedded, image, PNG, text } from './content.mjs'
import { askName, contentOf, form, says, tool, tools } from './tools.mjs'

const speaks = words => ({ messages: [{ role: 'user', content: text(words) }] })
const argument = name => ({ name, description: `The argument ${name}`, required: true })

const prompts = [
  { name: 'test_simple_prompt', description: 'Plain text.', get: () => speaks('This is a simple prompt for testing.') },
  {
    name: 'test_prompt_with_arguments',
    description: 'Text with two arguments.',
    arguments: [argument('arg1'), argument('arg2')],
    get: (_name, { arg1, arg2 }) => speaks(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A resource and text.',
    arguments: [argument('resourceUri')],
    get: (_name, { resourceUri = '' }) => ({
      messages: [
        { role: 'user', content: embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
        { role: 'user', content: text('Please process the embedded resource above.') }
      ]
    })
  },
  {
    name: 'test_prompt_with_image',
    description: 'An image and text.',
    get: () => ({ messages: [{ role: 'user', content: image }, { role: 'user', content: text('Please analyze the image above.') }] })
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Asks before it speaks.',
    get: async (_name, _args, context) => {
      const { user_context: answer } = await context.ask({ user_context: form('What context should the prompt use?', { context: { type: 'string' } }, ['context']) })
      return speaks(`In the context of ${String(contentOf(answer).context)}`)
    }
  }
]

const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/

/** Everything that the public conformance suite calls by name. */
export function fixtureSource () {
  const listeners = new Set()
  const tell = kind => {
    for (const listener of listeners) listener([kind])
    return says(`the ${kind} have changed`)
  }
  const all = [
    ...tools,
    tool('test_trigger_tool_change', 'Says that the tools have changed.', () => tell('tools')),
    tool('test_trigger_prompt_change', 'Says that the prompts have changed.', () => tell('prompts'))
  ]
  const byName = new Map(all.map(one => [one.name, one]))
  const resources = {
    list: () => [
      { uri: 'test://static-text', name: 'text', description: 'Static text.', mimeType: 'text/plain' },
      { uri: 'test://static-binary', name: 'binary', description: 'A static image.', mimeType: 'image/png' },
      { uri: 'test://watched-resource', name: 'watched', description: 'Text that may change.', mimeType: 'text/plain' }
    ],
    templates: () => [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'Data by id.', mimeType: 'application/json' }],
    read (uri) {
      if (uri === 'test://static-text') return { contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }] }
      if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] }
      if (uri === 'test://watched-resource') return { contents: [{ uri, mimeType: 'text/plain', text: 'Watched.' }] }
      const id = TEMPLATE.exec(uri)?.[1]
      if (id === undefined) return undefined
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }] }
    },
    subscribe: () => () => {}
  }
  return {
    list: () => all.map(({ run, ...definition }) => definition),
    async prepare (name, args, context) {
      if (name !== 'test_tool_with_task') return args
      const { user_name: answer } = await context.ask({ user_name: askName })
      return { user_name: contentOf(answer).name }
    },
    call: (name, args, context) => byName.get(name).run(args, context),
    resources,
    prompts: {
      list: () => prompts.map(({ get, ...definition }) => definition),
      get: (name, args, context) => prompts.find(prompt => prompt.name === name).get(name, args, context)
    },
    complete: (_ref, { value }) => ({ values: ['paris', 'park', 'party'].filter(word => word.startsWith(value)) }),
    onChange (listener) {
      listeners.add(listener)
      return () => { listeners.delete(listener) }
    }
  }
}
