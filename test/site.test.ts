import { test } from 'tap'
import { siteContents, siteLink, sitePages, toSitePage } from '../scripts/site/pages.mjs'

test('each page and each link of a page has its place on the site', t => {
  const pages = sitePages()
  for (const page of ['packages/vac.md', 'guides/streaming.md', 'examples/jwt-app.md', 'decisions/index.md']) t.ok([...pages.values()].includes(page), page)
  t.equal(new Set(pages.values()).size, pages.size, 'no two files are one page')
  for (const file of ['README.md', ...pages.keys()]) {
    const text = toSitePage(file, pages)
    for (const [, link] of text.replace(/^```[^]*?^```/gm, '').matchAll(/\]\((\/[^)#\s]*)/g)) t.ok(/^\/(?:docs\/.*\.(?:png|svg))?$/.test(link!) || [...pages.values()].includes(link!.slice(1)), `${file}: ${link}`)
  }
  t.equal(siteLink('docs/guides/jwt.md', '../../examples/jwt-app/README.md#a', pages), '/examples/jwt-app.md#a')
  t.match(siteLink('README.md', 'examples/', pages), /^https:\/\/github\.com\/.*\/tree\/main\/examples$/)
  t.throws(() => siteLink('README.md', 'docs/none.md', pages), /README\.md links to docs\/none\.md/)
  t.end()
})

test('the contents of the site are those of the documentation', t => {
  const contents = siteContents(sitePages())
  t.ok(contents.length > 5)
  for (const [heading, links] of contents) t.ok(links.length > 0, heading)
  t.end()
})
