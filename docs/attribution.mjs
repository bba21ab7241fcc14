// The structures of the sources that live longer than one call of a function, for docs/explain/attribution.md. Each has
// a marker above its declaration, which docs/generate.mjs reads as it reads the bounds of limits.mjs:
//   @keyed <key> | holds: … | whose: … | bound: … | share: … | test: <file>: <name of the test>
//   @keyed none: <why a caller, an upstream or a model does not choose its keys>
// A marker of something that is not declared in TypeScript names it: `@keyed (table task) <key> | …`.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

const FIELDS = ['holds', 'whose', 'bound', 'share', 'test']

/** Classes whose objects keep something for a key. Those of dependencies keep connections or keys of issuers. */
const CLASSES = /^(?:(?:Weak)?(?:Map|Set)|LinkedSet|Agent|Pool|LRUCache)$/
const TYPES = /(?<!Readonly)\b(?:Map|Set|WeakMap|WeakSet|LinkedSet)<|^(?:Promise<)?(?:\w+\.)?(?:Agent|Pool)\b/
const WRITES = /^(?:set|add|push|unshift|splice|delete)$/
/** A function that is an argument of one of these runs only within the call. */
const WITHIN = /^(?:map|forEach|filter|flatMap|some|every|find|findIndex|findLast|reduce|sort|toSorted|replace|replaceAll|from|visit)$/

/** The sources: `{ file, text }` by the path from the root. @param parts folders of a package, such as `page` */
export function sourcesOfPackages (parts = ['src']) {
  const folders = ['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).sort().flatMap(name => parts.map(part => `${group}/${name}/${part}`)))
  return folders.filter(folder => existsSync(join(root, folder))).flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(name => posix.join(folder, name.replaceAll('\\', '/')))
      .filter(file => file.endsWith('.ts')).sort().map(file => ({ file, text: readFileSync(join(root, file), 'utf8') })))
}

/**
 * The structures of one source, with their markers: `{ file, name, line, marker }`. `marker` is undefined without one,
 * `{ none }` or `{ key, holds, whose, bound, share, test }`.
 */
export function structuresOf ({ file, text }) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const comments = text.match(/(?:^[ \t]*\/\/.*\n)+|\/\*\*[^]*?\*\//gm) ?? []
  const named = new Map(comments.flatMap(markersOf).flatMap(({ name, marker }) => name === undefined ? [] : [[name, marker]]))
  const declared = declarationsOf(source).map(node => {
    const above = (ts.getLeadingCommentRanges(text, declarationOf(node).pos) ?? []).map(({ pos, end }) => text.slice(pos, end)).join('\n')
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
    return { file, name: node.name.getText(source), line: line + 1, marker: markersOf(above).find(({ name }) => name === undefined)?.marker }
  })
  const tables = [...text.matchAll(/\bCREATE (?:\w+ )*TABLE (?:\$\.|\$\{[^}]+\})?(\w+)/g)].map(({ 1: table, index }) => ({ name: `table ${table}`, index }))
  const others = [...tables, ...[...named.keys()].filter(name => !name.startsWith('table ')).map(name => ({ name, index: text.indexOf(`(${name})`) }))]
  return [...declared, ...others.map(({ name, index }) => ({ file, name, line: text.slice(0, index).split('\n').length, marker: named.get(name) }))]
}

/** What a marker lacks, as texts; the named test must exist in its file. */
export function problemsOf ({ marker }) {
  if (marker === undefined) return ['has no marker @keyed']
  if (marker.none !== undefined) return marker.none === '' ? ['gives no reason after none:'] : []
  const problems = [['key', marker.key], ...FIELDS.map(field => [field, marker[field]])].flatMap(([field, value]) => value ? [] : [`names no ${field}`])
  const { file, name } = testOf(marker.test)
  if (marker.test && (file === undefined || !existsSync(join(root, file)))) problems.push(`names the test ${marker.test}, which is not <file>: <name> of a file that exists`)
  else if (marker.test && !readFileSync(join(root, file), 'utf8').includes(name)) problems.push(`names the test ${name}, which ${file} does not have`)
  return problems
}

/** The parts of `<file>: <name of the test>`; without parts for another text. */
export function testOf (text = '') {
  const [, file, name] = /^(\S+\.ts): (.+)$/.exec(text) ?? []
  return { file, name }
}

/** The markers of a text: `{ name?, marker }`. */
function markersOf (text) {
  const plain = text.replace(/^[ \t]*(?:\/\/|\/?\*+(?!\/))?[ \t]?/gm, '').replace(/\s*\*\/.*$/gm, '\n')
  return [...plain.matchAll(/@keyed (?:\(([^)]+)\) )?([^]*?)(?=\n\n|@keyed|\n@|$(?![^]))/g)].map(([, name, rest]) => {
    const [key, ...fields] = rest.replaceAll(/\s+/g, ' ').trim().split(/ ?\| /)
    const none = /^none:\s*(.*)$/.exec(key)?.[1]
    return { name, marker: none !== undefined ? { none } : { key, ...Object.fromEntries(fields.map(field => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()])) } }
  })
}

/** Fields, constants of modules, and constants of functions that functions within them write to later. */
function declarationsOf (source) {
  const found = []
  const visit = (node, depth) => {
    if ((ts.isPropertyDeclaration(node) || (ts.isPropertySignature(node) && ts.isInterfaceDeclaration(node.parent))) && isStructure(node, source)) found.push(node)
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && isStructure(node, source) &&
      writesTo(node, depth === 0 ? source : functionOf(node), depth > 0)) found.push(node)
    ts.forEachChild(node, child => visit(child, depth + (ts.isFunctionLike(node) ? 1 : 0)))
  }
  visit(source, 0)
  return found
}

/** A collection, or a list or an object that begins empty and is written to. */
function isStructure (node, source) {
  if (TYPES.test(node.type?.getText(source) ?? '')) return true
  const made = node.initializer === undefined ? undefined : ends(node.initializer)
  if (made === undefined) return false
  if (ts.isNewExpression(made)) return CLASSES.test(made.expression.getText(source))
  const isEmpty = (ts.isArrayLiteralExpression(made) && made.elements.length === 0) || (ts.isObjectLiteralExpression(made) && made.properties.length === 0) ||
    made.getText(source).startsWith('Object.create(null)')
  return isEmpty && writesTo(node, ts.isPropertyDeclaration(node) ? source : functionOf(node) ?? source, false)
}

/** What an initialiser makes: the right side of `??` and `=`, without `as`. */
function ends (node) {
  if (ts.isBinaryExpression(node)) return ends(node.right)
  return ts.isAsExpression(node) || ts.isParenthesizedExpression(node) ? ends(node.expression) : node
}

/** Whether code in `scope` writes to what `node` declares; `later` means in a function that can run after the scope. */
function writesTo (node, scope, later) {
  const name = node.name.getText()
  const refers = expression => expression.getText().replace(/[!?]/g, '').replace(/^.*\.(?=[#\w]+$)/, '') === name
  const visit = (at, isLater) => {
    if (!later || isLater) {
      if (ts.isPropertyAccessExpression(at) && WRITES.test(at.name.text) && ts.isCallExpression(at.parent) && refers(at.expression)) return true
      if (ts.isElementAccessExpression(at) && refers(at.expression) && ts.isBinaryExpression(at.parent) && at.parent.left === at) return true
    }
    return ts.forEachChild(at, child => visit(child, isLater || (ts.isFunctionLike(at) && at !== scope && outlives(at)))) ?? false
  }
  return visit(scope, false)
}

/** Whether a function can run after the call that makes it: it is neither called only there, nor passed to a loop. */
function outlives (node) {
  const { parent } = node
  if (ts.isCallExpression(parent)) {
    const called = parent.expression
    return called !== node && !(WITHIN.test(called.getText()) || (ts.isPropertyAccessExpression(called) && WITHIN.test(called.name.text)))
  }
  const name = ts.isFunctionDeclaration(node) ? node.name?.text : ts.isVariableDeclaration(parent) ? parent.name.getText() : undefined
  const scope = functionOf(node)
  if (name === undefined || scope === undefined) return true
  const visit = at => {
    const isUse = ts.isIdentifier(at) && at.text === name && at.parent !== node && at.parent !== parent
    if (isUse && !(ts.isCallExpression(at.parent) && at.parent.expression === at)) return true
    for (let f = isUse ? functionOf(at) : scope; f !== scope && f !== node && f !== undefined; f = functionOf(f)) if (outlives(f)) return true
    return ts.forEachChild(at, visit) ?? false
  }
  return visit(scope)
}

function functionOf (node) {
  for (let at = node.parent; at !== undefined; at = at.parent) if (ts.isFunctionLike(at)) return at
}

/** The node that a comment stands above; that of an interface of one line is above it. */
function declarationOf (node) {
  if (ts.isVariableDeclaration(node)) return node.parent.parent
  return ts.isPropertySignature(node) && !node.parent.getText().includes('\n') ? node.parent : node
}
