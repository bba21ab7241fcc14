import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { parseConfig, readConfig } from '../src/index.js'

const parse = (lines: string[], env = {}) => parseConfig(`kind: vacConfig\n${lines.join('\n')}\n`, '/x/vac_config.yaml', { env })
function problems (lines: string[], env = {}): Array<readonly [number, string]> {
  try {
    parse(lines, env)
  } catch (err) {
    return (err as { problems: Array<{ line: number, message: string }> }).problems.map(({ line, message }) => [line, message] as const)
  }
  return []
}

test('merge keys are merged: entries of the map come first, then those of the first map', async t => {
  const { vac, warnings } = parse([
    'x-own: &own { k: 3, model: m0 }',
    'x-list: &list { memory: [{ docs: { vectorstore: folder } }] }',
    'vac:',
    '  base: &base', '    interpreter: echo', '    model: m1',
    '  one:', '    <<: *base', '    display_name: One',
    '  two:', '    model: m2', '    <<: [*base, *own]',
    '  three:', '    <<: *two-of', '    display_name: Three'
  ].map(line => line.replace('two:', 'two: &two-of')))
  t.strictSame(vac, {
    base: { interpreter: 'echo', model: 'm1' },
    one: { display_name: 'One', interpreter: 'echo', model: 'm1' },
    two: { model: 'm2', interpreter: 'echo', k: 3 },
    three: { display_name: 'Three', model: 'm2', interpreter: 'echo', k: 3 }
  })
  t.notOk(warnings.some(({ message }) => message.includes('<<')))
})

test('entries for anchors are not read at the top, in the service and in a VAC', async t => {
  const { service, vac, warnings } = parse([
    'x-top: 1', 'service:', '  x-limits: &limits { at_once: 3 }', '  limits: { owner: *limits }', 'vac: { a: { x-tags: [1], interpreter: echo } }'
  ])
  t.strictSame(service, { limits: { owner: { at_once: 3 } } })
  t.match(vac, { a: { interpreter: 'echo' } })
  t.strictSame(warnings, [])
  t.match(problems(['service:', '  y-limits: 1', 'vac: { a: {} }']), [[3, /unknown key "y-limits"/]])
})

/* eslint-disable no-template-curly-in-string */
test('lists, maps and variables are merged, in flow maps and in services too', async t => {
  const { vac, service } = parse([
    'x-base: &base', '  memory: [{ docs: { vectorstore: folder, data_source: "${DIR}" } }]', '  tags: { a: 1 }',
    'x-server: &server { command: node, env: { A: "${PRICE}" } }',
    'service:', '  mcp_servers:', '    one: { <<: *server, args: [a] }', '    two: { <<: [*server, { timeout: 5 }] }',
    'vac:', ...['a', 'b'].flatMap(name => [`  ${name}:`, '    <<: *base', '    interpreter: echo'])
  ], { DIR: './docs', PRICE: '$$5' })
  const expected = { interpreter: 'echo', memory: [{ docs: { vectorstore: 'folder', data_source: './docs' } }], tags: { a: 1 } }
  t.strictSame(vac, { a: expected, b: expected })
  t.match(service.mcp_servers, { one: { command: 'node', args: ['a'], env: { A: '$$5' } }, two: { command: 'node', timeout: 5 } })
})

test('problems of merged entries, and of entries below aliases, name the line where they are written', async t => {
  t.strictSame(problems(['x-base: &base', '  display_name: 5', 'vac:', '  a:', '    <<: *base']).map(([line]) => line), [3])
  t.match(problems(['x-c: &c', '  at_once: 0', 'service:', '  limits: { owner: *c }', 'vac: { a: {} }']), [[3, /at_once/]])
  t.match(problems(['x-c: &c', '  own: { at_once: 0 }', 'service:', '  limits:', '    <<: *c', 'vac: { a: {} }']), [[3, /unknown key "own"/]])
})

test('what cannot be merged is refused with its line, and a quoted key is a key', async t => {
  for (const value of ['5', '[1]', '*a', '[[]]', '*missing']) {
    t.match(problems(['vac:', '  a: &a', `    <<: ${value}`, '    interpreter: echo']), [[4, /a merge key \(<<\) takes a map|[Uu]nresolved alias/]], value)
  }
  t.strictSame(parse(['vac:', '  a: { "<<": { x: 1 } }']).vac, { a: { '<<': { x: 1 } } })
})

test('merge keys that multiply are refused, and entries of x- sections are of no other', async t => {
  const lines = ['x-0: &l0 { a: 1, b: 2 }']
  for (let i = 1; i < 40; i++) lines.push(`x-${i}: &l${i} { p: { <<: *l${i - 1} }, q: { <<: *l${i - 1} } }`)
  t.match(problems([...lines, 'vac: { a: { <<: *l39 } }'])[0]?.[1], /alias/i)
  const wide = `x-w: &w { ${Array.from({ length: 1_000 }, (_, i) => `k${i}: 1`).join(', ')} }`
  const many = Array.from({ length: 200 }, (_, i) => `  v${i}: { <<: *w }`)
  t.match(problems([wide, 'vac:', ...many])[0]?.[1], /merge keys \(<<\) of the file add more than 100000 entries/)
  t.equal(Object.keys(parse(['x-w: &w { k: 1 }', 'vac:', ...many]).vac).length, 200)
  t.match(problems(['xy: 1', 'vac: { a: {} }'])[0]?.[1], /unknown key "xy"/)
})

test('a file in another encoding is refused with its name', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-'))
  const text = 'kind: vacConfig\nvac:\n  bot: { interpreter: echo } # ä\n'
  const swapped = Buffer.from(`\ufeff${text}`, 'utf16le').swap16()
  for (const [bytes, reason] of [
    [Buffer.from(`\ufeff${text}`, 'utf16le'), 'in UTF-16'], [Buffer.from(text, 'utf16le'), 'in UTF-16'], [swapped, 'in UTF-16'], [swapped.subarray(2), 'in UTF-16'],
    [Buffer.from([0xff, 0xfe, 0, 0, 0x6b, 0, 0, 0]), 'in UTF-32'], [Buffer.from(text, 'latin1'), 'not in UTF-8'], [Buffer.from(`\ufeff${text}`), undefined]
  ] as const) {
    const file = join(folder, 'vac_config.yaml')
    writeFileSync(file, bytes)
    if (reason === undefined) t.match(await readConfig(file), { vac: { bot: {} } })
    else await t.rejects(readConfig(file), { problems: [{ message: `the file is ${reason}; save it as UTF-8` }] } as object as Error, reason)
  }
})
