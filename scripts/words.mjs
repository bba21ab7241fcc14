// Checks the prose of the repository for the words that CONTRIBUTING rules out: comments, string literals, names of
// tests and Markdown. Comment lines have at most 120 columns. Arguments are files or folders; default: all.
// Prints each finding and the count of each area; ends with `words: N files, N findings`.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))
const ALL = ['packages', 'apps', 'docs', 'examples', 'bench', 'scripts', 'test', '.ci', '.changeset', '.']
const SKIPPED = /(?:^|\/)(?:node_modules|dist|coverage|\.tap|\.polyvac|\.pages|cache|LICENSE|words\.mjs|stop-words\.ts|synonyms\.ts|tool-words\.ts|references\.ts)(?:\/|$)/
const MAX_COLUMNS = 120

/** What is found, and what to write instead; the third says that only source files are meant. A space is any space. */
const WORDS = [
  [/\b(?:told|tells?|telling)\b/, 'reports, sends, notifies, names, distinguishes'],
  [/\bbef(?:all|alls|ell|allen)\b/, 'happens to'],
  [/\bwhoever\b/, 'the actor: the caller, the client, the server'],
  [/\bnobody\b/, 'no caller, no reader, no process'],
  [/\bby need\b/, 'lazily, at first use'],
  [/(?<!\b(?:(?:any|every|some|no)(?:thing|one|body|where)|no one|what|who|where|how) )\belse\b/, 'otherwise; everything else'],
  [/(?<!\bthere )\b(?:is|are|was|were|be) no\b(?! (?:longer|more|less|fewer|later|older|larger|smaller)\b)/, 'is not a; has no'],
  [/\bin (?:its|their|one's|his|our) (?:own )?words\b|\bin the words of\b/, 'in the format of; with the text of'],
  [/\bas (?:it is|they are)\b(?! (?:\w+ed|\w+en|\w+ing|sent|made|read|built|kept|left)\b)/, 'unchanged'],
  [/\bof (?:its|their|one's|our) own\b/, 'separate; has its own'],
  [/\b(?:one|another|this|that|each|every|which) room\b(?! for)|\b(?:our|the) rooms\b|\bread the room\b/, 'package'],
  [/\bwires\b|\b(?:another|any|each|every|no|one|that|this|which) wire\b(?! (?:format|name))/, 'protocol'],
  [/\bchanged hands\b/, 'has another owner'],
  [/\b(?:gives?|gave|given|giving) back\b/, 'returns, releases'],
  [/\bweigh(?:s|ed)? a little\b/, 'gets a small weight'],
  [/\balone\b/, 'only, by itself'],
  [/\bbeside\b/, 'besides, next to'],
  [/\bplaces for\b/, 'slots'],
  [/\bsays\b/, 'states, returns, means', 'source']
].map(([{ source }, advice, only]) => ({ pattern: new RegExp(source.replaceAll(' ', '\\s+'), 'gi'), advice, only }))

/** What of a Markdown page is not checked: code, comments, link targets, and generated parts, whose sources are. */
const NOT_PROSE = new RegExp([
  /^( *)(`{3,}|~{3,})[^]*?\n\1\2 *$/, /<!-- generated: [^]*?<!-- end -->/, /<!--[^]*?-->/, /`[^`]+`/, /\]\([^)\s]+\)/
].map(({ source }) => source).join('|'), 'gm')

const blank = text => text.replace(/\S/g, '\0')

/** A file of the same length in which all but comments and strings is blanked; of a test, all strings but its names. */
function proseOfSource (text, file) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false)
  const code = text.split('')
  const prose = blank(text).split('')
  const copy = (from, to) => { for (let i = from; i < to; i++) prose[i] = text[i] }
  const isTest = /(?:^|\/)test\//.test(file)
  const visit = (node, isProse) => {
    const isString = ts.isStringLiteral(node) || ts.isTemplateLiteralToken(node)
    if (isString || ts.isRegularExpressionLiteral(node)) code.fill(' ', node.getStart(source), node.end)
    // the text between the tags of a .tsx file
    if (ts.isJsxText(node)) {
      code.fill(' ', node.pos, node.end)
      copy(node.pos, node.end)
    }
    if (isString && isProse) copy(node.getStart(source) + 1, node.end - 1)
    const isTestCall = isTest && ts.isCallExpression(node) && /^(?:t\.)?test$/.test(node.expression.getText(source))
    const isModule = ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
    ts.forEachChild(node, child => visit(child, !isModule && (isProse || (isTestCall && child === node.arguments[0]))))
  }
  visit(source, !isTest)
  for (const { 0: comment, index } of code.join('').matchAll(/\/\/.*|\/\*[^]*?\*\//g)) copy(index, index + comment.length)
  const unmarked = prose.join('').replace(/^[ \t]*(?:\/\/|\/?\*+)/gm, marks => ' '.repeat(marks.length))
  return unmarked.replace(/`[^`\n]*`/g, blank)
}

function proseOf (text, file) {
  if (file.endsWith('.md')) return text.replace(NOT_PROSE, blank)
  return isSource(file) ? proseOfSource(text, file) : text.replace(/^[^#\n]+/gm, blank)
}

const isSource = file => /\.(?:[cm]?[jt]s|tsx)$/.test(file)

/** @returns `{ line, found, advice }` for each finding of one file */
export function findWords (text, file) {
  const prose = proseOf(text, file)
  const found = WORDS.filter(({ only }) => only !== 'source' || isSource(file)).flatMap(({ pattern, advice }) =>
    [...prose.matchAll(pattern)].map(({ 0: found, index }) => ({ line: text.slice(0, index).split('\n').length, found, advice })))
  if (!isSource(file)) return found
  const long = text.split('\n').flatMap((line, i) => line.length > MAX_COLUMNS && /^\s*(?:\/\/|\/?\*)/.test(line)
    ? [{ line: i + 1, found: `a comment of ${line.length} columns`, advice: `at most ${MAX_COLUMNS}` }]
    : [])
  return [...found, ...long].sort((a, b) => a.line - b.line)
}

function filesIn (path) {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  const names = readdirSync(join(root, path), { withFileTypes: true })
  const entries = path === '.' ? names.filter(entry => entry.isFile() && !entry.name.includes('lock')) : names
  return entries.map(({ name }) => posix.join(path, name)).filter(name => !SKIPPED.test(name)).flatMap(filesIn)
    .filter(name => /\.(?:[cm]?[jt]s|tsx|md|ya?ml)$|^\.ci\/|Dockerfile$/.test(name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = process.argv.slice(2).map(path => path.replace(/^\.\//, '').replace(/\/$/, ''))
  const files = (paths.length > 0 ? paths : ALL).flatMap(filesIn)
  const areas = new Map()
  let count = 0
  for (const file of files) {
    const area = /^(?:(?:packages|apps)\/[^/]+\/[^/]+|[^/]+(?=\/))/.exec(file)?.[0] ?? '.'
    for (const { line, found, advice } of findWords(readFileSync(join(root, file), 'utf8'), file)) {
      process.stdout.write(`${file}:${line}: ${found.replace(/\s+/g, ' ')} → ${advice}\n`)
      areas.set(area, (areas.get(area) ?? 0) + 1)
      count++
    }
  }
  for (const [area, n] of areas) process.stdout.write(`${area}: ${n}\n`)
  process.stdout.write(`words: ${files.length} files, ${count} findings\n`)
  process.exitCode = count === 0 ? 0 : 1
}
