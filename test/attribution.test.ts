import { test } from 'tap'
import { root } from './fixtures/pages.js'

interface Source { readonly file: string, readonly text: string }
interface Structure { readonly file: string, readonly name: string, readonly line: number, readonly marker: Record<string, string> | undefined }

const { problemsOf, sourcesOfPackages, structuresOf } = await import(`${root}/docs/attribution.mjs`) as {
  sourcesOfPackages: () => Source[]
  structuresOf: (source: Source) => Structure[]
  problemsOf: (structure: Structure) => string[]
}
const found = (text: string): Structure[] => structuresOf({ file: 'packages/x/src/a.ts', text })
const namesOf = (text: string): string[] => found(text).map(({ name }) => name)
const ROW = '@keyed owner | holds: a number | whose: the owner | bound: MAX_THINGS | share: the owner'
const TEST = 'test/attribution.test.ts: each structure has a marker'

test('each structure has a marker with every part, and the test that it names exists', t => {
  const all = sourcesOfPackages().flatMap(structuresOf)
  t.ok(all.length > 200)
  t.strictSame(all.flatMap(one => problemsOf(one).map(problem => `${one.file}:${one.line} ${one.name} ${problem}`)), [])
  t.end()
})

test('a structure that lives longer than a call is found, wherever it is declared', t => {
  t.strictSame(namesOf('class A {\n  readonly #a = new Map<string, number>()\n  #b: Set<string> | undefined\n  c = b ?? new LinkedSet<A>()\n  #d: Promise<Agent>\n}\n'), ['#a', '#b', 'c', '#d'])
  t.strictSame(namesOf('const a = new Map()\nfunction f (k) { a.set(k, 1) }\nconst list: string[] = []\nexport const add = v => list.push(v)\n'), ['a', 'list'])
  t.strictSame(namesOf('const counts: Record<string, number> = {}\nexport function f (k) { counts[k] = 1 }\n'), ['counts'])
  t.strictSame(namesOf('export function make () {\n  const kept = new Map()\n  return { add: (k) => { kept.set(k, 1) } }\n}\n'), ['kept'])
  t.strictSame(namesOf('interface A { readonly owners: Map<string, number> }\n'), ['owners'])
  t.strictSame(namesOf('const T = `CREATE TABLE a (b); CREATE UNLOGGED TABLE $.c (d); CREATE VIRTUAL TABLE e USING f`\n'), ['table a', 'table c', 'table e'])
  t.end()
})

test('tables of the code, and what lives for one call, are not', t => {
  t.strictSame(namesOf("const NAMES = new Set(['a', 'b'])\nexport const is = (k) => NAMES.has(k)\n"), [])
  t.strictSame(namesOf('interface A { readonly names: ReadonlySet<string> }\nclass B { readonly list: readonly string[] = [] }\n'), [])
  t.strictSame(namesOf('function f (items) {\n  const seen = new Set()\n  items.forEach(i => { seen.add(i) })\n  const visit = i => { seen.add(i) }\n  visit(1)\n  return seen.size\n}\n'), [])
  t.end()
})

test('a marker that lacks a part, a reason or a test has a problem', t => {
  const problems = (comment: string): string[] => found(`class A {\n  ${comment}\n  readonly #a = new Map()\n}\n`).flatMap(problemsOf)
  t.strictSame(problems(''), ['has no marker @keyed'])
  t.strictSame(problems(`// ${ROW} | test: ${TEST}`), [])
  t.strictSame(problems(`/** Kept. */\n  // ${ROW.replace(' | whose', '\n  //   | whose')} |\n  //   test: ${TEST}`), [], 'of several lines')
  t.strictSame(problems(`/**\n   * Kept.\n   * ${ROW} | test: ${TEST}\n   */`), [])
  t.strictSame(problems(`// ${ROW}`), ['names no test'])
  t.strictSame(problems(`// ${ROW.replace(' | bound: MAX_THINGS', '')} | test: ${TEST}`), ['names no bound'])
  t.match(problems(`// ${ROW} | test: ${TEST} of another name`), [/which test\/attribution.test.ts does not have/])
  t.match(problems(`// ${ROW} | test: test/gone.test.ts: a name`), [/a file that exists/])
  t.strictSame(problems('// @keyed none: names of the configuration'), [])
  t.strictSame(problems('// @keyed none:'), ['gives no reason after none:'])
  t.strictSame(found('// @keyed (table a) none: of the code\nconst T = `CREATE TABLE a (b); CREATE TABLE c (d)`\n').flatMap(problemsOf), ['has no marker @keyed'])
  t.end()
})
