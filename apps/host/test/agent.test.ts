import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { fakeModel } from '../../../packages/agent/test/fixtures/model.js'
import { createHost, readConfig } from '../src/index.js'
import '../../../test/fixtures/timeout.mjs'
import { questions } from '../../../test/probes/index.mjs'

test('ten lines of configuration are an agent on every protocol, with the same answer and the same steps', async t => {
  const { url } = await fakeModel(t, ({ messages }) => messages.at(-1)!.role === 'tool'
    ? { says: 'Four minutes [1].' }
    : { calls: [{ name: 'search_documents', args: { query: 'tea' } }] })
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-agent-'))
  t.teardown(() => { rmSync(folder, { recursive: true, force: true }) })
  mkdirSync(join(folder, 'docs'))
  writeFileSync(join(folder, 'docs/tea.md'), '# Tea\n\nTea is brewed for four minutes.\n')
  writeFileSync(join(folder, 'role.md'), 'You are a cook.')
  writeFileSync(join(folder, 'vac_config.yaml'), `kind: vacConfig
service: { enable_a2a_agent: true, enable_mcp_server: true }
vac:
  cook:
    interpreter: agent
    model: fake
    openai: { base_url: '${url}' }
    instructions: ./role.md
    memory: [{ docs: { vectorstore: folder, path: ./docs, index_file: ':memory:' } }]
    steps: all
`)
  const app = await createHost({ config: await readConfig(join(folder, 'vac_config.yaml')), server: { logger: { level: 'silent' } } })
  t.teardown(() => app.close())
  for (const [what, ask, probe] of questions('How long is tea brewed?', 'cook')) {
    const { path, body, headers } = probe.withSteps(ask)
    const response = await app.inject({ method: 'POST', url: path, payload: body, headers: { ...headers } })
    t.match(probe.textOf(response.payload), /^Four minutes \[1\]\./, what)
    const steps = probe.stepsOf?.(response.payload) ?? []
    if (steps.length > 0) t.match(steps.flatMap(step => Object.keys(step)), /tool_call/, what)
  }
})
