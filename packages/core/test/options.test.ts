import { test } from 'tap'
import {
  callback, createError, flag, integer, milliseconds, number, oneOf, optional, readOptions, required, text, texts, withMethod, type OptionRules
} from '../src/plugin.js'

interface Options {
  readonly store: object
  readonly onEnd?: (() => void) | undefined
  readonly log?: object | undefined
  readonly isOpen?: boolean | undefined
  readonly title?: string | undefined
  readonly level?: 'low' | 'high' | undefined
  readonly names?: readonly string[] | undefined
  readonly waitMs?: number | undefined
  readonly maxItems?: number | undefined
  readonly share?: number | undefined
  readonly retries?: number | undefined
  readonly limits?: object | undefined
}

const RULES = {
  store: required(withMethod('get', 'a store, made by createStore()')),
  onEnd: callback(),
  log: withMethod('info', 'a log'),
  isOpen: flag(true),
  title: text('untitled'),
  level: oneOf(['low', 'high'], 'low'),
  names: texts(),
  waitMs: milliseconds(1_000),
  maxItems: integer(10, { max: 100 }),
  share: number(0, 1, 0.5),
  retries: integer(3, { min: 0 }),
  limits: optional('an object', value => typeof value === 'object')
} satisfies OptionRules<Options>

const OptionsError = createError<[string]>('TEST_OPTIONS', '%s', 500)
const store = { get () {} }
const read = (options: object) => readOptions(RULES, options as Options, OptionsError, 'the test plugin')
const problemOf = (options: object): string => {
  try {
    read({ store, ...options })
  } catch (err) {
    return (err as Error).message
  }
  return ''
}

test('options get their defaults, and undefined counts as absent', async t => {
  t.strictSame(read({ store, waitMs: undefined, retries: 0, prefix: '/x', logLevel: 'info', logSerializers: {} }), {
    store,
    onEnd: undefined,
    log: undefined,
    isOpen: true,
    title: 'untitled',
    level: 'low',
    names: undefined,
    waitMs: 1_000,
    maxItems: 10,
    share: 0.5,
    retries: 0,
    limits: undefined
  })
  const { waitMs, onEnd } = read({ store })
  const typed: [number, (() => void) | undefined] = [waitMs, onEnd]
  t.strictSame(typed, [1_000, undefined])
})

test('an option out of its range is refused with its name, its value and the range', async t => {
  for (const bad of [NaN, Infinity, -Infinity, -1, 0, 1.5, '5', true, null, {}, 5n]) {
    t.match(problemOf({ waitMs: bad }), /^waitMs must be a whole number from 1 to 2147483647; it is /, String(bad))
  }
  t.match(problemOf({ waitMs: 2 ** 31 }), 'waitMs must be a whole number from 1 to 2147483647; it is 2147483648')
  t.match(problemOf({ retries: -1 }), 'retries must be a whole number of at least 0; it is -1')
  t.match(problemOf({ maxItems: 101 }), 'maxItems must be a whole number from 1 to 100; it is 101')
  for (const bad of [NaN, -0.1, 1.1, '0.5']) t.match(problemOf({ share: bad }), /^share must be a number from 0 to 1; it is /)
  t.equal(problemOf({ onEnd: 'later' }), 'onEnd must be a function; it is "later"')
  t.equal(problemOf({ isOpen: 'yes' }), 'isOpen must be true or false; it is "yes"')
  t.equal(problemOf({ title: '' }), 'title must be a text that is not empty; it is ""')
  t.equal(problemOf({ level: 'middle' }), 'level must be "low" or "high"; it is "middle"')
  t.equal(problemOf({ names: ['a', 1] }), 'names must be a list of texts; it is a list')
  t.equal(problemOf({ log: null }), 'log must be a log; it is null')
  t.equal(problemOf({ limits: () => {} }), 'limits must be an object; it is a function')
})

test('an option that is unknown or missing is refused, and a near name is suggested', async t => {
  t.equal(problemOf({ waitMS: 5 }), 'the test plugin has no option "waitMS"; did you mean "waitMs"?')
  t.match(problemOf({ constructor: 5 }), /^the test plugin has no option "constructor"; its options: store, onEnd, .* and 2 more$/)
  t.throws(() => read({}), { code: 'TEST_OPTIONS', message: 'the test plugin needs the option `store`: a store, made by createStore()' })
  t.throws(() => read(undefined as unknown as object), { message: /needs an object of options; it is undefined/ })
  t.throws(() => readOptions({ max: integer(1) }, { maxx: 1 } as { max?: number }, OptionsError, 'the test plugin', 'limits.'), { message: /no option "limits.maxx"; did you mean "max"/ })
  t.throws(() => readOptions({ max: integer(1) }, { max: 0 }, OptionsError, 'the test plugin', 'limits.'), { message: /^limits.max must be/ })
})
