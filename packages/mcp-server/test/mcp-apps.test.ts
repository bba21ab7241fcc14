import { createGateway } from '@polyvac/mcp-gateway'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { initialize, LegacySession, modern, post, serve, sourceOf, says } from './fixtures/wire.js'

const UI = 'io.modelcontextprotocol/ui'
const PAGE = 'ui://get-time/mcp-app.html'
const declared = { extensions: { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } } }
const require = createRequire(import.meta.url)
const example = {
  command: process.execPath,
  args: [join(require.resolve('@modelcontextprotocol/server-basic-vanillajs'), '../index.js'), '--stdio']
}

/** An MCP server whose tools are those of the published example server of MCP Apps, under these names. */
async function serveApps (t: Parameters<typeof serve>[0], ...names: string[]): ReturnType<typeof serve> {
  const gateway = createGateway({ servers: Object.fromEntries(names.map(name => [name, example])) })
  t.teardown(() => gateway.close())
  const app = await serve(t, { sources: [gateway.toolSource()] })
  gateway.start()
  await gateway.settled()
  return app
}

test('MCP Apps of an upstream server reach clients of both eras: the extension, tools, pages and their _meta', async t => {
  const app = await serveApps(t, 'clock')
  const discover = async (): Promise<any> => (await modern(app, 'server/discover', {}, { capabilities: declared })).json.result
  await until(async () => (await discover()).capabilities.extensions?.[UI] !== undefined, 'the extension is declared')
  const begun = await post(app, initialize('2025-11-25', declared))
  t.match(begun.json.result, { capabilities: { extensions: { [UI]: {} } } })
  const session = await LegacySession.open(app, { capabilities: declared })
  for (const request of [
    (method: string, params?: Record<string, unknown>) => modern(app, method, params, { capabilities: declared }),
    (method: string, params?: Record<string, unknown>) => session.request(method, params)
  ]) {
    const [tool] = (await request('tools/list')).json.result?.tools
    t.match(tool, { name: 'clock__get-time', _meta: { ui: { resourceUri: PAGE } } })
    t.match((await request('resources/list')).json.result?.resources, [{ uri: PAGE, mimeType: 'text/html;profile=mcp-app' }])
    const [page] = (await request('resources/read', { uri: PAGE })).json.result?.contents
    t.match(page, { uri: PAGE, mimeType: 'text/html;profile=mcp-app', text: /<html/ })
    t.match((await request('tools/call', { name: tool.name })).json.result, { structuredContent: { time: String } })
  }
})

test('a server without MCP Apps does not declare them', async t => {
  const app = await serve(t, { sources: [sourceOf({ plain: { run: () => says('x') } })] })
  t.notOk((await post(app, initialize('2025-11-25', declared))).json.result?.capabilities.extensions)
})

test('two servers with a page of the same URI are both readable, and their tools name their own', async t => {
  const app = await serveApps(t, 'one', 'two')
  const { tools } = (await modern(app, 'tools/list')).json.result as { tools: any[] }
  const pages = tools.map(({ _meta: meta }) => meta.ui.resourceUri)
  t.strictSame(pages, ['ui://one/get-time/mcp-app.html', 'ui://two/get-time/mcp-app.html'])
  t.strictSame(tools.map(({ _meta: meta }) => meta['ui/resourceUri']), pages)
  t.match((await modern(app, 'resources/list')).json.result?.resources.map(({ uri }: { uri: string }) => uri), pages)
  for (const uri of [...pages, PAGE]) {
    t.match((await modern(app, 'resources/read', { uri })).json.result?.contents, [{ uri, text: /<html/ }])
  }
})
