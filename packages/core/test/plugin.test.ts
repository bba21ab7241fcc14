import Fastify from 'fastify'
import { test } from 'tap'
import {
  createError, deadlineSignal, failureOf, isExposed, isMissingModule, isRecord, LightAbort, matchesEtag, nearest, OpenCalls, quoteName, RouteTable,
  ShuttingDownError, suggestion, unlessAborted, VacInterpreterFailedError, VacNotFoundError, within
} from '../src/plugin.js'
import { JsonScan } from '../src/limits/json-scan.js'

test('a record is an object that is neither null nor an array', async t => {
  t.strictSame([{}, { a: 1 }, null, [], 'a', 1, undefined].map(isRecord), [true, true, false, false, false, false, false])
})

test('a missing package is known by the codes of import() and of require()', async t => {
  const missing = (code: string, message: string): Error => Object.assign(new Error(message), { code })
  t.ok(isMissingModule(missing('ERR_MODULE_NOT_FOUND', "Cannot find package 'pg' imported from /app.mjs"), 'pg'))
  t.ok(isMissingModule(missing('MODULE_NOT_FOUND', "Cannot find module 'pg'\nRequire stack:\n- /app.cjs"), 'pg'))
  t.notOk(isMissingModule(missing('MODULE_NOT_FOUND', "Cannot find module 'pg-types'"), 'pg'), 'a package that a package lacks')
  t.strictSame([undefined, null, 'x', new Error('x')].map(err => isMissingModule(err)), [false, false, false, false])
})

test('an error exposes its text below status 500, and above where that is stated', async t => {
  const exposed = (status: number | undefined, expose?: boolean): boolean => {
    const CodedError = createError<[string]>('TEST', 'no %s', status, expose === undefined ? {} : { expose })
    const err = new CodedError('luck')
    t.match(err, { code: 'TEST', statusCode: status ?? 500, message: 'no luck' })
    t.notOk(Object.keys(err).includes('expose'))
    return isExposed(err)
  }
  t.strictSame([exposed(404), exposed(500), exposed(undefined), exposed(503, true), exposed(404, false)], [true, false, false, true, false])
  t.notOk(isExposed({ expose: true, message: 'not an error' }))
  t.notOk(isExposed(new Error('no status')))
})

test('a caller reads the text of an error that is exposed, and of no other with status 500 or above', async t => {
  const request = { id: 'r1', headers: {} }
  t.match(failureOf(new VacInterpreterFailedError('"docs"'), request), { status: 500, body: { error: { code: 'VAC_INTERPRETER_FAILED' } } })
  t.match(failureOf(new ShuttingDownError(), request), { status: 503, body: { error: { code: 'SHUTTING_DOWN' } } })
  t.match(failureOf(new VacNotFoundError('"x"', 'none'), request), { status: 404, body: { error: { code: 'VAC_NOT_FOUND' } } })
  t.match(failureOf(Object.assign(new Error('SECRET'), { code: 'VAC_X', statusCode: 500 }), request), { status: 500, body: { error: { code: 'INTERNAL_ERROR', message: /the log has the cause/ } } })
  t.match(failureOf(Object.assign(new Error('the mail server is down'), { code: 'MAIL', statusCode: 502, expose: true }), request), { status: 502, body: { error: { code: 'MAIL', message: 'the mail server is down' } } })
})

test('an error without an exposed text keeps its status, also where that is named `status`', async t => {
  const request = { id: 'r1', headers: {} }
  const failed = (properties: object) => failureOf(Object.assign(new Error('SECRET'), properties), request)
  t.match(failed({ statusCode: 503, code: 'FST_UNDER_PRESSURE' }), { status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE', message: /try again later/ } } })
  t.match(failed({ status: 502 }), { status: 502, body: { error: { code: 'INTERNAL_ERROR' } } })
  t.match(failed({ status: 429, message: 'too many' }), { status: 429, body: { error: { code: 'REQUEST_REFUSED', message: 'too many' } } })
  t.match(failed({ statusCode: '404' }), { status: 500 })
  t.match(failed({ statusCode: 200, code: 'FINE' }), { status: 500 })
  t.match(failed({ expose: true, message: 'for the caller' }), { status: 500, body: { error: { message: 'for the caller' } } })
})

test('a promise is awaited for a time, and then left', async t => {
  t.equal(await within(Promise.resolve(1), 10_000), 1)
  const never = new Promise<number>(() => {})
  t.equal(await within(never, 1), undefined)
  t.equal(await within(never, 1, () => 'late'), 'late')
  await t.rejects(within(never, 1, () => { throw new Error('late') }), { message: 'late' })
  await t.rejects(within(Promise.reject(new Error('broken')), 10_000), { message: 'broken' })
  const laterBroken = new Promise<never>((_resolve, reject) => { setImmediate(() => { setTimeout(reject, 5, new Error('after the end')) }) })
  t.equal(await within(laterBroken, 1), undefined)
})

test('a promise is awaited until its signal fires', async t => {
  const stop = new LightAbort()
  t.equal(await unlessAborted(Promise.resolve(1), stop), 1)
  const left = unlessAborted(new Promise(() => {}), stop)
  stop.abort(new Error('left'))
  await t.rejects(left, { message: 'left' })
  await t.rejects(unlessAborted(Promise.resolve(1), stop), { message: 'left' }, 'one that has fired before')
  t.equal(await unlessAborted(new Promise(() => {}), stop, () => 'late'), 'late')
})

test('a signal with a deadline fires late, with its signal, or when it is aborted, and not once it has ended', async t => {
  const late = deadlineSignal(1)
  await new Promise<void>(resolve => { late.signal.addEventListener('abort', () => { resolve() }) })
  t.match(late.signal.reason, { name: 'TimeoutError', message: 'not done within 0.001 s' })
  const named = deadlineSignal(1, undefined, { reason: () => 'named' })
  await new Promise<void>(resolve => { named.signal.addEventListener('abort', () => { resolve() }) })
  t.equal(named.signal.reason, 'named')
  const stop = new LightAbort()
  const [first, ended, aborted] = [deadlineSignal(60_000, stop, { ref: false }), deadlineSignal(60_000, stop), deadlineSignal(60_000, stop)]
  ended.end()
  aborted.abort('closed')
  stop.abort('left')
  t.strictSame([first, ended, aborted].map(({ signal }) => signal.reason as unknown), ['left', undefined, 'closed'])
  const after = deadlineSignal(60_000, stop)
  t.equal(after.signal.reason, 'left', 'a signal that fired before')
  for (const { end } of [late, named, first, aborted, after]) end()
})

test('the values of a JSON text are counted outside of its strings, wherever it is cut into pieces', t => {
  const texts = ['{"a":[1,2,{"b":"x,:[{"}],"c":"\\\\"}', '["\\"","\\\\\\"",",\\\\",[[]]]', JSON.stringify({ '"': '\\".'.repeat(20), ž: [null, '🙂"\\'] })]
  for (const text of texts) {
    const count = (value: unknown): number => typeof value !== 'object' || value === null
      ? 0
      : Object.values(value).reduce((sum: number, child) => sum + count(child), Math.max(1, Object.keys(value).length) + (Array.isArray(value) ? 0 : 3 * Object.keys(value).length))
    const bytes = Buffer.from(text)
    for (let size = 1; size <= bytes.length; size++) {
      const scan = new JsonScan({ depth: 3, values: 1_000, valuesOfName: 3 })
      for (let at = 0; at < bytes.length; at += size) scan.read(bytes.toString('latin1', at, at + size))
      t.match(scan, { values: count(JSON.parse(text)), exceeded: undefined }, `${text} in pieces of ${size}`)
    }
  }
  const exceeded = (text: string): unknown => {
    const scan = new JsonScan({ depth: 2, values: 4, valuesOfName: 0 })
    scan.read(text)
    return scan.exceeded
  }
  t.strictSame(['[[1,2,3]]', '[[[]]]', '[1,2,3,4,5]', '[[[1,2,3,4,5', '{"a":{"b":"[[[,,,,"}}', '"[[['].map(exceeded), [undefined, 'depth', 'values', 'depth', undefined, undefined])
  t.end()
})

test('an entity tag is compared weakly, in a list and with *', async t => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*']) t.ok(matchesEtag(header, '"a"'), header)
  for (const header of [undefined, '', '"b"', 'a']) t.notOk(matchesEtag(header, '"a"'), String(header))
})

test('a message quotes names, cuts long ones and suggests those that are near', async t => {
  t.equal(quoteName('a"b'), '"a\\"b"')
  t.equal(quoteName('x'.repeat(201)), `"${'x'.repeat(200)}…"`)
  t.equal(nearest('Eco', ['echo', 'add']), 'echo')
  t.equal(suggestion('eco', ['echo', 'add'], 'its tools'), 'did you mean "echo"?')
  t.equal(suggestion('x', ['echo', 'add'], 'its tools'), 'its tools: echo, add')
  t.equal(suggestion('x', [], 'its tools'), 'its tools: none')
  t.match(suggestion('x', Array.from({ length: 12 }, (_, i) => `tool${i}`), 'its tools'), /tool9 and 2 more$/)
})

test('calls are aborted when the application closes, and those that do not end in time are returned', async t => {
  const calls = new OpenCalls<LightAbort>()
  const [quick, stuck] = [new LightAbort(), new LightAbort()]
  const node = calls.add(quick)
  quick.addEventListener('abort', () => { setImmediate(() => { calls.remove(node) }) })
  t.strictSame(await calls.close(10_000), [], 'the last call ended the wait')
  t.throws(() => calls.add(quick), { code: 'SHUTTING_DOWN' })
  const others = new OpenCalls<LightAbort>()
  others.add(stuck)
  t.strictSame(await others.close(5), [stuck])
  t.match(stuck.reason, { code: 'SHUTTING_DOWN' })
  t.strictSame(await new OpenCalls<LightAbort>().close(10_000), [])
})

test('a path that a client joined wrongly is known by the route that it means', async t => {
  const app = Fastify()
  const table = new RouteTable(app)
  app.get('/openai/v1/models', async () => 'x')
  app.get('/vac/:name', async () => 'x')
  for (const [path, meant] of [
    ['/openai/v1/models/', '/openai/v1/models'], ['//openai//v1///models', '/openai/v1/models'], ['/openai/v1/v1/v1/models', '/openai/v1/models'],
    ['/openai/v1/openai/v1/models', '/openai/v1/models'], ['/vac//docs', '/vac/docs'], ['/openai/v1/models', undefined], ['/', undefined], ['/v1/v10', undefined], ['/vac/', undefined]
  ] as const) t.equal(table.meant(path), meant, path)
})
