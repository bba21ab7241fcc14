// Which files of the repository are pages of the site, at which paths, and where their links lead there. Uses only
// Node.js itself: test/docs.test.ts checks the result without the packages of the site.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const REPOSITORY = 'https://github.com/polyvac/polyvac'
const PICTURE = /\.(?:png|svg)$/

/** Path of a page on the site by its file in the repository, both without a slash in front. */
export function sitePages () {
  const pages = new Map([['SECURITY.md', 'security.md'], ['CONTRIBUTING.md', 'contributing.md'], ['CHANGELOG.md', 'changelog.md']])
  for (const file of readdirSync(join(root, 'docs'), { recursive: true }).map(file => file.replaceAll('\\', '/'))) {
    if (file.endsWith('.md')) pages.set(`docs/${file}`, file === 'README.md' ? 'contents.md' : file.replace(/README\.md$/, 'index.md'))
  }
  for (const group of ['packages', 'apps', 'examples']) {
    for (const name of readdirSync(join(root, group))) {
      const file = `${group}/${name}/README.md`
      if (existsSync(join(root, file))) pages.set(file, `${group === 'examples' ? 'examples' : 'packages'}/${name}.md`)
    }
  }
  return pages
}

/** The text of a page for the site: without comments, with links to pages, pictures and files of the repository. */
export function toSitePage (file, pages) {
  const text = readFileSync(join(root, file), 'utf8').replace(/^<!--[^]*?-->\n/gm, '')
  const moveLink = (link, mark, words, target) => /^(?:[a-z]+:|#)/i.test(target) ? link : `${mark}[${words}](${siteLink(file, target, pages)})`
  // links in code are text
  return text.split(/^(```[^]*?^```.*$)/m).map((part, i) => {
    return i % 2 === 1 ? toSiteCode(part) : part.replace(/(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)/g, moveLink)
  }).join('')
}

/** The words after the language are for the tests of the pages. */
function toSiteCode (block) {
  return block.replace(/^```(\w+).*/, '```$1')
}

/** The address on the site of a link in a file. @throws an Error that names the file if the target does not exist */
export function siteLink (file, target, pages) {
  const [path, anchor] = target.split('#')
  const found = relative(root, join(root, dirname(file), path)).replaceAll('\\', '/')
  if (!existsSync(join(root, found))) throw new Error(`${file} links to ${target}, which does not exist`)
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (found === 'README.md') return `/${hash}`
  const page = pages.get(found) ?? pages.get(`${found.replace(/\/$/, '')}/README.md`)
  if (page !== undefined) return `/${page}${hash}`
  if (PICTURE.test(found)) return `/${found}`
  return `${REPOSITORY}/${statSync(join(root, found)).isDirectory() ? 'tree' : 'blob'}/main/${found}${hash}`
}

/** Pictures that pages show. */
export function sitePictures () {
  return readdirSync(join(root, 'docs'), { recursive: true }).map(file => `docs/${file}`.replaceAll('\\', '/')).filter(file => PICTURE.test(file))
}

/** The contents of docs/README.md: `[heading, [[title, link], …]]`. */
export function siteContents (pages) {
  const text = readFileSync(join(root, 'docs/README.md'), 'utf8')
  return text.split(/^## /m).slice(1).map(section => {
    const heading = section.split('\n', 1)[0]
    const links = [...section.matchAll(/(?<=^\|.*)\[([^\]]+)\]\(([^)]+\.md)\)(?=.*\|$)/gm)].map(([, title, target]) => [title.replaceAll('`', ''), siteLink('docs/README.md', target, pages)])
    return [heading, links]
  })
}
