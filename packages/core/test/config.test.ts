import { test } from 'tap'
import { interpolate } from '../src/config/interpolate.js'
import { parseConfig, readConfig, type ConfigError } from '../src/index.js'
import { nearest } from '../src/plugin.js'

const parse = (text: string, env = {}) => parseConfig(text, '/app/vac_config.yaml', { env })
function problems (text: string): string[] {
  try {
    parse(text)
    return []
  } catch (err) {
    return (err as ConfigError).problems.map(({ line, column, message, hint }) => `${line}:${column} ${message}${hint === undefined ? '' : ` | ${hint}`}`)
  }
}

test('a program without its own section takes any service, and the VACs are checked', async t => {
  const { service, vac } = parse('kind: vacConfig\nservice: { anything: [1], x-own: 1, mcp_servers: [7] }\nvac: { a: { model: m } }\n')
  t.strictSame(service, { anything: [1], mcp_servers: [7] })
  t.strictSame(vac, { a: { model: 'm' } })
  t.strictSame(parse('kind: vacConfig\nservice: { mcp_servers: { a: { command: x } } }\n').vac, {}, 'something else is served')
  t.strictSame(problems('kind: vacConfig\nservice: 7\nvac: { a: { model: 7 } }\n'), ['2:10 service: expected object, got 7', '3:20 vac.a.model: expected string, got 7'])
  t.strictSame(problems('kind: vacConfig\n'), ['1:1 the file has no "vac" | add a VAC under "vac:"'])
  t.match(problems(JSON.stringify({ mcpServers: { a: { command: 'x' } } })).join(), /unknown key "mcpServers" in the file/)
})

test('a missing file and a folder are reported with the remedy', async t => {
  await t.rejects(readConfig('/nowhere/vac_config.yaml'), { code: 'CONFIG_INVALID', message: /\/nowhere\/vac_config\.yaml {2}there is no such file; name one with --config/ })
  await t.rejects(readConfig('.'), { code: 'CONFIG_INVALID', message: /folder/ })
})

test('names that VACs cannot have are reported at once, each with its place, the reason and the remedy', t => {
  const route = (name: string): string => `"${name}" cannot be the name of a VAC: the path /ag-ui/${name} belongs to routes of AG-UI | use another name, such as "my-${name}"`
  const letters = (name: string): string => `"${name}" cannot be the name of a VAC: names are parts of paths | use 1 to 64 letters, digits, "_", "-" or "."`
  t.strictSame(problems(`kind: vacConfig\nvac:\n  docs: {}\n  agent: { model: 7 }\n  info:\n  a/b: {}\n  ..: {}\n  "": {}\n  ${'x'.repeat(65)}: {}\n`), [
    `4:3 ${route('agent')}`, '4:19 vac.agent.model: expected string, got 7', `5:3 ${route('info')}`, '5:8 vac.info: expected object, got nothing',
    ...['a/b', '..', '', 'x'.repeat(65)].map((name, i) => `${6 + i}:3 ${letters(name)}`)
  ])
  t.strictSame(problems('kind: vacConfig\nx-all: &all { info: {} }\nvac: { <<: *all, a: {} }\n'), [`2:15 ${route('info')}`], 'a merged entry')
  t.strictSame(Object.keys(parse(`kind: vacConfig\nvac: { Info: {}, agents: {}, info.agent: {}, ${'x'.repeat(64)}: {}, größe_1: {} }\n`).vac).length, 5)
  t.end()
})

test('variables: value, default, message, dollar sign', async t => {
  const env = { SET: 'v', EMPTY: '' }
  const fill = (text: string) => interpolate(text, env)
  for (const [given, wanted] of [
    // eslint-disable-next-line no-template-curly-in-string
    ['${SET}', 'v'], ['a${SET}b', 'avb'], ['${SET:-d}', 'v'], ['${NONE:-d}', 'd'], ['${EMPTY:-d}', 'd'], ['${EMPTY}', ''], ['${NONE:-}', ''], ['$$', '$'], ['$${SET}', '${SET}'], ['$5', '$5'], ['${SET:?m}', 'v']
  ] as const) t.equal(fill(given).text, wanted, given)
  // eslint-disable-next-line no-template-curly-in-string
  for (const bad of ['${NONE}', '${NONE:?tell me}', '${}', '${9}', '${SET', '${constructor}', '${__proto__}']) t.equal(fill(bad).problems.length, 1, bad)
  // eslint-disable-next-line no-template-curly-in-string
  t.strictSame(problems('kind: vacConfig\nvac:\n  a: { display_name: "x ${NO_SUCH:?needed for a}" }\n'), ['3:22 NO_SUCH is not set: needed for a'])
  // eslint-disable-next-line no-template-curly-in-string
  t.equal(parse('kind: vacConfig\nvac: { a: { display_name: "${N}" } }', { N: '123' }).vac.a?.display_name, '123', 'text that is wanted stays text')
})

test('a name is suggested only when it is near', async t => {
  t.equal(nearest('agnet', ['agent', 'model']), 'agent')
  t.equal(nearest('AGENT', ['agent']), 'agent')
  t.equal(nearest('completely', ['agent', 'model']), undefined)
  t.equal(nearest('x'.repeat(100_000), ['agent']), undefined)
})
