// Cases about what a call takes and gives: nulls, links, `_meta`, settings, large and late results.
import { seenOf, textOf } from './case.mjs'

/** Resources or templates of the server of a case; the host also has those of its VAC. */
const ofServer = items => items.filter(({ uri, uriTemplate }) => !(uri ?? uriTemplate).startsWith('polyvac:'))

export const results = {
  '06-null-in-results.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const kinds = ['block_annotations', 'block_meta', 'is_error', 'result_meta', 'structured', 'link_nulls', 'no_content', 'content_null']
    for (const [which, client] of await c.clients(host)) {
      for (const kind of kinds) await c.gives(`${which}: ${kind}`, async () => Array.isArray((await client.callTool({ name: `s__${kind}`, arguments: {} })).content), true)
      const resources = await seenOf(async () => ofServer((await client.listResources()).resources))
      c.is(`${which}: resources`, resources.length ?? resources, 1)
      await c.gives(`${which}: templates`, async () => ofServer((await client.listResourceTemplates()).resourceTemplates).length, 1)
      await c.gives(`${which}: prompts`, async () => (await client.listPrompts()).prompts.map(({ name }) => name).includes('s__p'), true)
      await c.gives(`${which}: a resource`, async () => (await client.readResource({ uri: resources[0]?.uri ?? 'x://1' })).contents[0].text, 'body')
      await c.gives(`${which}: a prompt`, async () => (await client.getPrompt({ name: 's__p' })).messages[0].content.text, 'x')
    }
  },

  '13-caller-meta.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const _meta = { 'com.example/tenant': 'acme', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    const sees = text => Object.fromEntries(Object.keys(_meta).map(key => [key, JSON.parse(text)?.[key]]))
    for (const [which, client] of await c.clients(host)) {
      const result = await client.callTool({ name: 's__meta', arguments: {}, _meta })
      c.is(`${which}: tools/call`, sees(textOf(result)), _meta)
      c.is(`${which}: _meta of the result`, result._meta?.['com.example/fromServer'], 1)
      const [{ uri }] = ofServer((await client.listResources()).resources)
      await c.gives(`${which}: resources/read`, async () => sees((await client.readResource({ uri, _meta })).contents[0].text), _meta)
      await c.gives(`${which}: prompts/get`, async () => sees((await client.getPrompt({ name: 's__p', _meta })).messages[0].content.text), _meta)
    }
  },

  '16-null-for-optional.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const client = await c.sdk(host)
    const calls = {
      default_null: { cursor: null },
      anyof_null: { insight_id: null },
      type_list: { a: null },
      nullable30: { a: 'x' },
      number_text: { n: 1 },
      draft4: { price: 1 },
      pattern_p: { v: 'ä_1' },
      pattern_pcre: { v: 'Ab' },
      format: { v: '2026-01-01T00:00:00Z' },
      unknown_type: { v: 'x' }
    }
    for (const [name, args] of Object.entries(calls)) {
      await c.gives(`${name} over REST`, () => host.text('s', name, args), JSON.stringify(args))
      await c.gives(`${name} over /mcp`, async () => textOf(await client.callTool({ name: `s__${name}`, arguments: args })), JSON.stringify(args))
    }
  },

  '21-big-image.server.mjs': async c => {
    const host = await c.gateway({ s: c.server(), raised: c.server({}, { max_message_bytes: 32 * 1024 * 1024 }) })
    const { pid } = await host.server('s')
    const refused = await host.call('s', 'get_screenshot', { mb: 13.5 })
    c.holds('an image of 13.5 MB by default', refused.content !== undefined || /max_message_bytes/.test(refused.error), JSON.stringify(refused).slice(0, 300), 'the image, or a refusal that names max_message_bytes')
    await c.gives('the next call', async () => (await host.call('s', 'ping')).content, [])
    c.is('the process', (await host.server('s')).pid, pid)
    await c.gives('the image where the entry raises the bound', async () => (await host.call('raised', 'get_screenshot', { mb: 13.5 })).content?.[0].data.length, 13.5e6)
  },

  '30-links-of-two-servers.server.mjs': async c => {
    const host = await c.gateway({ a: c.server({ WHO: 'a' }), b: c.server({ WHO: 'b' }) })
    for (const [which, client] of await c.clients(host)) {
      for (const who of ['a', 'b']) {
        const read = async uri => (await client.readResource({ uri })).contents[0].text
        const { content } = await client.callTool({ name: `${who}__report`, arguments: {} })
        for (const [i, link] of ['a listed resource', 'an unlisted one'].entries()) await c.gives(`${which}: link of ${who} to ${link}`, () => read(content[i].uri), `content of ${who}`)
        const { content: [embedded] } = await client.callTool({ name: `${who}__embedded`, arguments: {} })
        await c.gives(`${which}: embedded resource of ${who}`, () => read(embedded.resource.uri), `content of ${who}`)
        await c.gives(`${which}: link in a prompt of ${who}`, async () => await read((await client.getPrompt({ name: `${who}__p` })).messages[0].content.uri), `content of ${who}`)
      }
    }
  },

  '35-env-values-in-results.server.mjs': async c => {
    const env = {
      AWS_REGION: 'eu-central-1',
      CONFLUENCE_URL: 'https://acme.atlassian.net/wiki',
      JIRA_USERNAME: 'ada@example.org',
      GITHUB_OWNER: 'acme-corp',
      GOOGLE_CLOUD_PROJECT: 'acme-prod',
      JIRA_API_TOKEN: 'k3yThatIsSecret0123456789'
    }
    const host = await c.gateway({ s: c.server(env) })
    const tools = (await host.get('/mcp/tools/s')).tools
    c.is('names of tools', tools.map(({ name }) => name).sort(), ['list_instances', 'search_acme-prod'])
    const list = tools.find(({ name }) => name === 'list_instances')
    c.is('description', list?.description, 'Lists instances, by default in eu-central-1')
    c.is('schema', list?.inputSchema.properties.region, { type: 'string', enum: ['us-east-1', 'eu-central-1'], default: 'eu-central-1' })
    const answer = {
      id: 'i-1',
      region: env.AWS_REGION,
      arn: 'arn:aws:ec2:eu-central-1:123456789012:instance/i-1',
      page: 'https://acme.atlassian.net/wiki/spaces/DOC/pages/1',
      assignee: env.JIRA_USERNAME,
      repo: 'acme-corp/app'
    }
    const uri = 'https://acme.atlassian.net/wiki/spaces/DOC'
    const rest = await host.call('s', 'list_instances', { region: env.AWS_REGION })
    c.is('result over REST', textOf(rest), JSON.stringify(answer))
    c.is('structured content over REST', rest.structuredContent, { 'eu-central-1': { count: 3 } })
    c.is('URI over REST', (await host.get('/mcp/resources')).resources.map(resource => resource.uri), [uri])
    await c.gives('a resource over REST', async () => (await host.post('/mcp/resources/read', { server: 's', uri })).body.contents?.[0].text, `read ${uri}`)
    const client = await c.sdk(host)
    const result = await seenOf(() => client.callTool({ name: 's__list_instances', arguments: { region: env.AWS_REGION } }))
    c.is('result over /mcp', textOf(result), JSON.stringify(answer))
    c.is('structured content over /mcp', result.structuredContent, { 'eu-central-1': { count: 3 } })
    await c.gives('a resource over /mcp', async () => (await client.readResource({ uri: ofServer((await client.listResources()).resources)[0].uri })).contents[0].text, `read ${uri}`)
  }
}
