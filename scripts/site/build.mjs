// Builds the site into scripts/site/dist: the pages of the repository, and the API reference from the types. With `dev`
// it serves it, and does not follow changes of pages. Needs scripts/ready.mjs with `all scripts/site`.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { root, sitePages, sitePictures, toSitePage } from './pages.mjs'

const here = join(root, 'scripts', 'site')
const target = join(here, '.pages')
const bin = name => join(here, 'node_modules', '.bin', name)

rmSync(target, { recursive: true, force: true })
const pages = sitePages()
for (const [file, page] of pages) write(page, toSitePage(file, pages))
for (const picture of sitePictures()) {
  mkdirSync(dirname(join(target, 'public', picture)), { recursive: true })
  cpSync(join(root, picture), join(target, 'public', picture))
}
write('index.md', home())
writeApi()
run(bin('vitepress'), [process.argv[2] === 'dev' ? 'dev' : 'build', here])

function write (page, text) {
  mkdirSync(dirname(join(target, page)), { recursive: true })
  writeFileSync(join(target, page), text)
}

/** The first page: what Polyvac is, and the parts of the README that a newcomer needs first. */
function home () {
  const readme = toSitePage('README.md', pages)
  const section = name => new RegExp(`^## ${name}\n[^]*?(?=^## )`, 'm').exec(readme)[0]
  return `---
layout: home
hero:
  name: Polyvac
  text: One agent function, every protocol
  tagline: Fastify plugins that serve your agent over HTTP, the OpenAI API, A2A and MCP
  actions:
    - { theme: brand, text: Ten minutes, link: /start/walkthrough }
    - { theme: alt, text: Add it to your app, link: /start/existing-app }
    - { theme: alt, text: All pages, link: /contents }
---

![One function, and the same answer over HTTP, the OpenAI API, A2A and MCP](/docs/four-protocols.svg)

${['Quick start', 'Add it to an existing app', 'I want to …', 'Packages'].map(section).join('\n')}
`
}

/** One page for each entry point with types. */
function writeApi () {
  const entries = ['packages', 'apps'].flatMap(group => readdirSync(join(root, group)).map(name => join(root, group, name, 'src', 'index.ts'))).filter(existsSync)
  run(bin('typedoc'), [
    ...entries, '--plugin', join(here, 'node_modules', 'typedoc-plugin-markdown', 'dist', 'index.js'), '--tsconfig', join(root, 'tsconfig.base.json'),
    '--skipErrorChecking', '--out', join(target, 'api'), '--router', 'module', '--readme', 'none', '--entryFileName', 'index', '--name', 'API', '--hideBreadcrumbs', '--hidePageHeader',
    '--excludeExternals', '--parametersFormat', 'table', '--propertiesFormat', 'table', '--interfacePropertiesFormat', 'table', '--typeDeclarationFormat', 'table', '--excludePrivate', '--disableSources', '--logLevel', 'Error'
  ])
  // its pages are packages/<name>/src.md and apps/<name>/src.md
  const made = readdirSync(join(target, 'api'), { recursive: true }).map(file => file.replaceAll('\\', '/')).filter(file => file.endsWith('.md'))
  if (made.length < 10) throw new Error(`the API reference has only ${made.length} pages`)
  for (const file of made) {
    const text = readFileSync(join(target, 'api', file), 'utf8')
      .replace(/^# \w+\/([\w-]+)\/src$/m, '# @polyvac/$1')
      .replace(/\[(?:packages|apps)\/([\w-]+)\/src\]/g, '[@polyvac/$1]')
      .replace(/\]\(([^)#]*)src\.md/g, (_link, path) => `](/api/${basename(join(dirname(file), path))}.md`)
    rmSync(join(target, 'api', file))
    write(`api/${file === 'index.md' ? file : `${basename(dirname(file))}.md`}`, text)
  }
  for (const group of ['packages', 'apps']) rmSync(join(target, 'api', group), { recursive: true })
}

function run (command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}
