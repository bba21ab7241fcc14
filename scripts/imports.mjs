// Checks what the sources import, type imports included: no cycle in any folder, between packages only the arrows
// below, in the folder of a protocol only what computes, and only packages that `npm start` installs. Prints each
// violation; ends with `imports: N imports, N violations`.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * What each package may import of the others; `types` only in `import type`, so that it can be an optional peer.
 * A package that is not listed imports none. The protocol plugins never import one another.
 */
const ARROWS = {
  auth: ['core'],
  tasks: ['sqlite'],
  documents: ['core', 'sqlite'],
  agent: ['core', 'documents'],
  vac: ['core'],
  playground: ['core', 'client'],
  runs: ['core', 'tasks'],
  a2a: ['core', 'runs', 'tasks'],
  'a2a-client': ['core'],
  'mcp-server': ['core', 'mcp-protocol', { types: 'tasks' }],
  'mcp-gateway': ['core', 'mcp-protocol'],
  host: ['core', 'auth', 'sqlite', 'tasks', 'documents', 'agent', 'vac', 'a2a', 'a2a-client', 'mcp-server', 'mcp-gateway', 'playground', 'runs'],
  polyvac: ['core', 'auth', 'client', 'host']
}

/** What `npm start` runs in addition to the sources. */
const ALSO_RUN = ['docs/files-server.mjs', 'packages/playground/build.mjs', 'scripts/compile.mjs', 'scripts/compile-sources.mjs']

/** Each import: `{ from, to, type }`; paths from the root, or `to` is a package name; `type` where it is erased. */
export function importsOfSources () {
  const found = []
  const folders = ['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).flatMap(name => ['src', 'page'].map(part => `${group}/${name}/${part}`)))
  for (const folder of folders.filter(folder => existsSync(join(root, folder)))) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!/\.tsx?$/.test(name)) continue
      const from = posix.join(folder, name.replaceAll('\\', '/'))
      const text = readFileSync(join(root, from), 'utf8')
      for (const { fileName, pos } of ts.preProcessFile(text, true, true).importedFiles) {
        const to = fileName.startsWith('.') ? sourceOf(posix.join(dirname(from), fileName)) : fileName
        const statement = text.slice(0, pos).split(/^(?=import|export)/m).at(-1)
        found.push({ from, to, type: /^(?:import|export) type\b/.test(statement) })
      }
    }
  }
  return found
}

/** The file from which the compiler makes `path`. */
function sourceOf (path) {
  return ['.ts', '.tsx'].map(ending => path.replace(/\.js$/, ending)).find(file => existsSync(join(root, file))) ?? path
}

/** Imports between packages, once each: `{ from, to, type, file }`, `type` where all imports are erased. */
export function packageArrows (imports) {
  const arrows = new Map()
  for (const { from: file, to: specifier, type } of imports) {
    const from = file.split('/')[1]
    const to = /^@polyvac\/([^/]+)/.exec(specifier)?.[1]
    if (to === undefined) continue
    const arrow = arrows.get(`${from} ${to}`)
    if (arrow === undefined) arrows.set(`${from} ${to}`, { from, to, type, file })
    else if (arrow.type && !type) Object.assign(arrow, { type, file })
  }
  return [...arrows.values()]
}

/**
 * In every folder the files and subfolders must import one another without a cycle, where a subfolder stands for all
 * that is in it. A cycle of files is then one of the folder that holds them all.
 */
export function cycles (imports) {
  const levels = new Map()
  for (const { from, to } of imports) {
    if (!/\.tsx?$/.test(to) || from === to) continue
    let level = dirname(from)
    while (!to.startsWith(`${level}/`)) level = dirname(level)
    const child = path => path.slice(level.length + 1).split('/')[0]
    const graph = levels.get(level) ?? levels.set(level, new Map()).get(level)
    const targets = graph.get(child(from)) ?? graph.set(child(from), new Map()).get(child(from))
    if (!targets.has(child(to))) targets.set(child(to), `${relative(level, from)} imports ${relative(level, to)}`)
  }
  return [...levels].flatMap(([level, graph]) => {
    const found = []
    for (let cycle; (cycle = shortestCycle(graph)) !== undefined;) {
      found.push(`${level}: ${cycle.map((node, i) => graph.get(node).get(cycle[i + 1] ?? cycle[0])).join('; ')}`)
      for (const [i, node] of cycle.entries()) graph.get(node).delete(cycle[i + 1] ?? cycle[0])
    }
    return found
  })
}

function shortestCycle (graph) {
  let shortest
  for (const start of graph.keys()) {
    const seen = new Set()
    const paths = [[start]]
    // the list grows while the loop walks it: breadth first
    for (const path of paths) {
      for (const next of graph.get(path.at(-1))?.keys() ?? []) {
        if (next === start && (shortest === undefined || path.length < shortest.length)) shortest = path
        if (!seen.has(next)) paths.push([...path, next])
        seen.add(next)
      }
    }
  }
  return shortest
}

/** An arrow needs its line in ARROWS and in the manifest: types of an optional peer, values of a dependency. */
export function forbiddenArrows (imports) {
  return packageArrows(imports).flatMap(({ from, to, type, file }) => {
    const allowed = ARROWS[from]?.some(arrow => arrow === to || (type && arrow.types === to)) === true
    const group = file.split('/')[0]
    const manifest = JSON.parse(readFileSync(join(root, group, from, 'package.json'), 'utf8'))
    // the page has what it imports in its bundle
    const bundled = file.includes('/page/') ? manifest.devDependencies : {}
    const installed = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies, ...bundled }
    return [
      ...allowed ? [] : [`${file}: ${from} may not import ${type ? 'types' : 'values'} of ${to}`],
      ...installed[`@polyvac/${to}`] !== undefined ? [] : [`${file}: ${to} is neither a dependency nor a peer dependency of ${from}`]
    ]
  })
}

/** The folders of protocols, and what their files may import besides one another. */
const PROTOCOL = /^packages\/vac\/src\/(?:protocols\/[^/]+|openai|chat)\//
const FOR_PROTOCOLS = ['@polyvac/core', '@polyvac/core/protocol', '@sinclair/typebox', 'node:crypto', 'packages/vac/src/protocol.ts', 'packages/vac/src/errors.ts']
/** What the protocols of OpenAI have in common, and those of chats. */
const SHARED = ['packages/vac/src/openai/', 'packages/vac/src/chat/']

/** A protocol only computes: it knows neither Fastify, nor I/O, nor another protocol. */
export function impureProtocols (imports) {
  return imports.flatMap(({ from, to }) => {
    const [folder] = PROTOCOL.exec(from) ?? []
    if (folder === undefined || to.startsWith(folder) || SHARED.some(shared => to.startsWith(shared)) || FOR_PROTOCOLS.includes(to)) return []
    return [`${from}: a protocol may not import ${to}, but ${FOR_PROTOCOLS.join(', ')} and its own files`]
  })
}

/** Imports of what builds and runs: `{ from, to }`, `to` a package. */
export function importsOfPackages (imports) {
  const also = ALSO_RUN.flatMap(from =>
    ts.preProcessFile(readFileSync(join(root, from), 'utf8'), true, true).importedFiles.map(({ fileName: to }) => ({ from, to })))
  return [...imports, ...also].flatMap(({ from, to }) => {
    const [name] = /^(?:@[^/]+\/)?[^/]+/.exec(to) ?? []
    return /\.tsx?$/.test(to) || /^(?:\.|node:|@polyvac\/)/.test(to) ? [] : [{ from, to: name }]
  })
}

/** `npm start` leaves devDependencies and optional packages out: npm marks them in the lock file. */
export function notInstalled (imports, { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))) {
  return imports.flatMap(({ from, to }) => {
    const entry = packages[`${from.split('/').slice(0, 2).join('/')}/node_modules/${to}`] ?? packages[`node_modules/${to}`]
    return entry !== undefined && !entry.dev && !entry.optional && !entry.devOptional
      ? []
      : [`${from}: npm start does not install ${to}; name it under "dependencies" of the root package.json`]
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const imports = importsOfSources()
  const violations = [
    ...forbiddenArrows(imports), ...impureProtocols(imports), ...notInstalled(importsOfPackages(imports)), ...cycles(imports).map(cycle => `cycle in ${cycle}`)
  ]
  for (const violation of violations) process.stdout.write(`${violation}\n`)
  process.stdout.write(`imports: ${imports.length} imports, ${violations.length} violations\n`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
