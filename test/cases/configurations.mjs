// Cases that are configuration files, and those that need a host of a certain kind.
import { readFileSync } from 'node:fs'
import { cli } from './case.mjs'
import { run } from './processes.mjs'

const CLIENTS = [
  'openai@6.49.0', 'ai@6.0.326', '@ai-sdk/openai@3.0.1', '@ai-sdk/openai-compatible@2.0.1', '@langchain/openai@1.6.0', '@langchain/core@1.4.0',
  '@continuedev/openai-adapters@1.37.0', 'genkit@1.42.0', '@genkit-ai/compat-oai@1.42.0'
]

const check = async c => await run(process.execPath, [cli, 'check', '--config', c.file], { cwd: c.folder() })

export const configurations = {
  '11-merge-keys.yaml': async c => {
    const { code, text } = await check(c)
    const isRefused = code !== 0 && /merge/i.test(text.replaceAll(c.file, ''))
    c.holds('polyvac check', isRefused || (code === 0 && /\bgood\b.*\b3 VACs\b/.test(text)), `${code}: ${text.trim()}`, 'good; 3 VACs, or a refusal that names the merge keys')
    if (isRefused) return
    c.holds('the VACs', !text.includes('<<'), text.trim(), 'no key named <<')
    const host = await c.host({}, { text: readFileSync(c.file, 'utf8') })
    for (const name of ['base', 'one', 'two']) await c.gives(`${name} answers`, async () => (await host.post(`/vac/${name}`, { user_input: 'hi' })).status, 200)
  },

  '13-utf16.yaml': async c => {
    const { code, text } = await check(c)
    const isNamed = /UTF-16/.test(text) && /UTF-8/.test(text)
    c.holds('polyvac check', (code === 0 && /\bgood\b/.test(text)) || (code !== 0 && isNamed && !/\\u0000|\0/.test(text)), `${code}: ${text.trim()}`, 'good, or a refusal that names UTF-16 and UTF-8')
  },

  '34-holds-bom.yaml': async c => {
    const { code, text } = await check(c)
    c.holds('polyvac check', code === 0 && /\bgood\b/.test(text), `${code}: ${text.trim()}`, 'good')
  },

  '35-holds-openai-clients.mjs': async c => {
    await c.extras(...CLIENTS)
    const host = await c.host({})
    const { code, text } = await run(process.execPath, [c.file, `${host.url}/openai/v1`], { ms: 120_000 })
    c.is('exit code', code, 0)
    const lines = text.split('\n').filter(line => /^(?:PASS|FAIL) /.test(line))
    c.is('clients that report', lines.length, 7)
    for (const line of lines) c.is(line.split(' ').slice(1, 3).join(' '), line.slice(0, 4) === 'PASS' ? 'PASS' : line, 'PASS')
    const { error } = (await host.post('/openai/v1/responses', { model: 'bot', input: 'hi' })).body
    c.holds('the Responses API', /chat\/completions/.test(JSON.stringify(error)), error, 'a refusal that names the routes')
  }
}
