import { test } from 'tap'
import { declaresTasks, definitionFields, eraOf, features, isResponseTo, LEGACY_REVISIONS, missingCapabilities, MODERN_REVISIONS, namesModern, readCapabilities, TASKS_CAPABILITY } from '../src/index.js'

test('every revision has a value for every feature', async t => {
  for (const revision of [...LEGACY_REVISIONS, ...MODERN_REVISIONS]) {
    t.strictSame(Object.keys(features[revision]), Object.keys(features['2024-11-05']), revision)
    t.ok(definitionFields[revision].tools.includes('inputSchema'), revision)
  }
})

test('a definition has the fields of its revision', async t => {
  t.strictSame(definitionFields['2024-11-05'].tools, ['name', 'description', 'inputSchema'])
  t.strictSame(definitionFields['2025-03-26'].tools, ['name', 'description', 'inputSchema', 'annotations'])
  t.strictSame(definitionFields['2024-11-05'].resources, ['uri', 'name', 'description', 'mimeType', 'size', 'annotations'])
  t.strictSame(definitionFields['2026-07-28'].prompts, ['name', 'title', 'description', 'icons', 'arguments', '_meta'])
})

test('versions that do not exist yet belong to the modern era', async t => {
  t.equal(eraOf('2025-11-25'), 'legacy')
  t.equal(eraOf('2027-01-01'), 'modern')
  t.ok(namesModern('2027-01-01'))
  for (const header of ['2025-11-25', 'tomorrow', ['2026-07-28'], undefined]) t.notOk(namesModern(header))
})

test('a server request needs the capability of its method', async t => {
  const form = { method: 'elicitation/create', params: { mode: 'form' } }
  const url = { method: 'elicitation/create', params: { mode: 'url' } }
  t.equal(missingCapabilities(form, { elicitation: {} }), undefined, 'an empty object stands for forms')
  t.strictSame(missingCapabilities(form, { elicitation: { url: {} } }), { elicitation: { form: {} } })
  t.strictSame(missingCapabilities(url, { elicitation: {} }), { elicitation: { url: {} } })
  t.strictSame(missingCapabilities({ method: 'sampling/createMessage', params: { tools: [] } }, { sampling: {} }), { sampling: { tools: {} } })
  t.strictSame(missingCapabilities({ method: 'roots/list' }, {}), { roots: {} })
  t.throws(() => missingCapabilities({ method: 'tools/call' }, {}), TypeError)
})

test('capabilities that are null are not declared', async t => {
  t.strictSame(readCapabilities({ sampling: null, roots: {} }), { roots: {} })
  t.ok(declaresTasks(TASKS_CAPABILITY))
  t.notOk(declaresTasks({ extensions: {} }))
})

test('a response has the form that its request demands', async t => {
  t.ok(isResponseTo({ method: 'elicitation/create' }, { action: 'decline' }))
  t.notOk(isResponseTo({ method: 'elicitation/create' }, { action: 'maybe' }))
  t.notOk(isResponseTo({ method: 'elicitation/create' }, { action: 'accept', content: 'text' }))
  t.ok(isResponseTo({ method: 'sampling/createMessage' }, { role: 'assistant', content: {} }))
  t.ok(isResponseTo({ method: 'roots/list' }, { roots: [] }))
  t.notOk(isResponseTo({ method: 'roots/list' }, null))
})
