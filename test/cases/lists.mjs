// Cases about what a server lists: names, schemas, nulls, pages.
import { Case, listAll, namesAt, seenOf, textOf } from './case.mjs'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const ODD_FIELDS = [
  'annotations', 'annotationsnull', 'required', 'propertiesnull', 'boolprop', 'outbool', 'outrequired', 'iconobj', 'annobad', 'titlenum',
  'schemastr', 'schemaarr', 'typearr', 'outputSchema', 'title', 'description', 'meta', 'icons', 'anyof'
]
const PAGES = { pages: 250, stuck: 8, null: 8, empty: 16 }

export const lists = {
  '03-dot-in-tool-name.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    for (const [which, client] of await c.clients(host)) {
      const tools = (await listAll(client)).filter(({ name }) => name.startsWith('s__'))
      c.is(`${which}: tools`, tools.length, 8)
      c.is(`${which}: names that do not fit`, tools.map(({ name }) => name).filter(name => !NAME.test(name)), [])
      const answers = await Promise.all(tools.map(async ({ name }) => textOf(await client.callTool({ name, arguments: {} }))))
      const reached = ['calendar.list', 'docs.getText', 'a.b.c', 'hosting_restartNode.jsApplicationV1', 'with space', 'slash/tool', 'ünï', 'ok_tool']
      c.is(`${which}: tools that a call reaches`, answers.sort(), reached.map(name => `called ${name}`).sort())
    }
  },

  '04-output-schema-without-type.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    for (const [which, client] of await c.clients(host)) {
      await c.gives(`${which}: good tools`, async () => namesAt(await listAll(client), 's').filter(name => name.startsWith('good')), ['good_1', 'good_2', 'good_3'])
    }
  },

  '05-null-fields.server.mjs': async c => {
    for (const kind of ODD_FIELDS) {
      const one = new Case(c.file, c.scratch, c.extras)
      try {
        const host = await one.gateway({ s: one.server({ KIND: kind }) })
        for (const [which, client] of await one.clients(host)) {
          await c.gives(`${kind}, ${which}: good tools`, async () => namesAt(await listAll(client), 's').filter(name => name.startsWith('good')), ['good_1', 'good_2'])
        }
      } catch (err) {
        c.is(`${kind}: lists`, err.message, 'a list')
      } finally {
        await one.close()
      }
    }
  },

  '08-top-level-combinator.server.mjs': async c => {
    const host = await c.gateway({ s: c.server({}, { schemas: 'model' }) })
    for (const [which, client] of await c.clients(host)) {
      const either = (await listAll(client)).find(({ name }) => name === 's__either')
      c.is(`${which}: combinators at the top of the schema`, Object.keys(either?.inputSchema ?? { missing: 1 }).filter(key => /^(?:anyOf|oneOf|allOf|not|enum|missing)$/.test(key)), [])
      c.is(`${which}: properties`, Object.keys(either?.inputSchema.properties ?? {}), ['id', 'slug'])
    }
    await c.gives('a call that fits', () => host.text('s', 'either', { id: '1' }), 'ok')
    await c.gives('a call that does not fit the schema of the server', async () => (await host.call('s', 'either', { id: '1', slug: 'a' })).code, 'MCP_INVALID_ARGUMENTS')
  },

  '32-pages.server.mjs': async c => {
    const host = await c.gateway(Object.fromEntries(Object.keys(PAGES).map(mode => [mode, c.server({ MODE: mode })])))
    const client = await c.sdk(host)
    for (const [mode, count] of Object.entries(PAGES)) {
      await c.gives(`${mode}: tools over REST`, async () => (await host.get(`/mcp/tools/${mode}`)).tools.length, count)
      await c.gives(`${mode}: tools over /mcp`, async () => namesAt(await listAll(client), mode).length, count)
    }
  },

  '36-values-in-schemas.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const long = 'x'.repeat(20_000)
    const values = { eol: ['\n', '\r\n', '\r'], delimiter: [',', ';', '\t', '\u001f', '\u0000'], marker: ['\u200b'], long_enum: [long, 'y'], pattern: ['plain text'] }
    const tools = (await host.get('/mcp/tools/s')).tools
    const schema = name => tools.find(tool => tool.name === name)?.inputSchema.properties.v ?? {}
    for (const name of ['eol', 'delimiter', 'long_enum']) c.is(`${name}: enum`, schema(name).enum?.map(short), values[name].map(short))
    c.is('eol: default', schema('eol').default, '\r\n')
    c.is('marker: const', schema('marker').const, '\u200b')
    c.is('pattern: pattern', schema('pattern').pattern, '^[^\u0000-\u001f\u202e]*$')
    const client = await c.sdk(host)
    for (const [name, list] of Object.entries(values)) {
      for (const v of list) {
        const what = JSON.stringify(v).slice(0, 20)
        await c.gives(`${name} ${what} over REST`, async () => short(await host.text('s', name, { v })), short(JSON.stringify({ v })))
        await c.gives(`${name} ${what} over /mcp`, async () => short(textOf(await client.callTool({ name: `s__${name}`, arguments: { v } }))), short(JSON.stringify({ v })))
      }
    }
  },

  '37-property-named-src.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const client = await c.sdk(host)
    const rest = (await host.get('/mcp/tools/s')).tools[0].inputSchema.properties
    const mcp = (await seenOf(() => listAll(client))).find?.(({ name }) => name === 's__copy')?.inputSchema.properties
    for (const name of ['other', 'src']) {
      c.is(`${name} over REST`, rest[name].description, 'Source file.')
      c.is(`${name} over /mcp`, mcp?.[name].description, 'Source file.')
    }
  }
}

/** A long text is compared by its ends. */
const short = value => typeof value === 'string' && value.length > 200 ? `${value.slice(0, 20)}…${value.slice(-20)} (${value.length})` : value
