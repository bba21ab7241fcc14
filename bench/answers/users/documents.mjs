// The documents of the sets in this folder, which no package of this repository installs: each set names them in its
// first line. They are downloaded once, by npm and by apt-get.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { splitDocument } from '@polyvac/documents'
import { questionOf } from '../../answers.mjs'

const FOLDER = fileURLToPath(new URL('../../node_modules/.documents/', import.meta.url))

const SETS = {
  'debian-faq': { deb: 'debian-faq', folder: 'usr/share/doc/debian/FAQ', file: /\.en\.html$/ },
  'developers-reference': { deb: 'developers-reference', folder: 'usr/share/developers-reference', file: /^(?!_|developers-reference|search|genindex).*\.html$/ },
  rsyslog: { deb: 'rsyslog-doc', folder: 'usr/share/doc/rsyslog-doc/html', file: /^(?!_|(?:search|genindex)\.).*\.html$/ },
  'semantic-release': { npm: 'semantic-release@24.2.9', folder: 'package', file: /^(?:README|docs\/.*)\.md$/ },
  'node-gyp': { npm: 'node-gyp@12.4.0', folder: 'package', file: /^(?:README|SECURITY|gyp\/docs\/\w+)\.md$/ },
  npm: { npm: 'npm@11.21.2', folder: 'package/docs/content', file: /\.md$/ }
}

/** The sets whose documents could be downloaded: names, documents as the index takes them, and questions. */
export function readUserSets () {
  return Object.entries(SETS).flatMap(([name, set]) => {
    const root = download(name, set)
    if (root === undefined) return []
    const [, ...lines] = readFileSync(new URL(`${name}.txt`, import.meta.url), 'utf8').trimEnd().split('\n')
    const files = readdirSync(root, { recursive: true }).filter(file => set.file.test(file)).sort()
    return [{
      name,
      documents: files.map(file => ({ source: file, passages: splitDocument(file, readFileSync(join(root, file), 'utf8')) })),
      questions: lines.map((line, index) => ({ ...line.startsWith('!') ? { text: line.slice(2) } : questionOf(line.slice(2)), number: index + 1 }))
    }]
  })
}

function download (name, { deb, npm, folder }) {
  const home = join(FOLDER, name)
  if (!existsSync(home)) {
    const half = `${home}.half`
    mkdirSync(half, { recursive: true })
    const run = (command, ...args) => execFileSync(command, args, { cwd: half, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    try {
      if (npm === undefined) {
        run('apt-get', 'download', deb)
        run('dpkg-deb', '-x', readdirSync(half).find(file => file.endsWith('.deb')), '.')
      } else run('tar', '-xzf', run('npm', 'pack', '--silent', npm).trim().split('\n').at(-1))
    } catch (err) {
      process.stderr.write(`bench: the set ${name} is left out, since its documents cannot be downloaded: ${err.message.split('\n')[0]}\n`)
      return undefined
    }
    renameSync(half, home)
  }
  return join(home, folder)
}
