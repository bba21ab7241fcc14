import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { root, siteContents, sitePages } from '../pages.mjs'

const pages = sitePages()
const api = join(root, 'scripts', 'site', '.pages', 'api')
const link = ([text, link]) => ({ text, link })
const packages = [...pages.values()].filter(page => page.startsWith('packages/')).sort()
const sidebar = [
  ...siteContents(pages).map(([text, links]) => ({ text, collapsed: text === 'Explanations', items: links.map(link) })),
  { text: 'Packages', collapsed: true, items: packages.map(page => ({ text: page.slice(9, -3), link: `/${page}` })) },
  { text: 'API', collapsed: true, items: existsSync(api) ? readdirSync(api).filter(file => file !== 'index.md').sort().map(file => ({ text: file.replace(/\.md$/, ''), link: `/api/${file}` })) : [] }
]

/** Ids of headings as GitHub makes them, since links of the repository use these. */
const slugify = text => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

export default defineConfig({
  title: 'Polyvac',
  description: 'One agent function over HTTP, the OpenAI API, A2A and MCP, as Fastify plugins',
  // browsers ask for a picture of the site otherwise
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '.pages',
  outDir: 'dist',
  base: process.env.SITE_BASE ?? '/',
  cleanUrls: true,
  markdown: { anchor: { slugify }, config: md => { md.set({ html: false }) } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start/walkthrough' },
      { text: 'Guides', link: '/contents' },
      { text: 'Reference', link: '/reference/configuration' },
      { text: 'API', link: '/api/' },
      { text: 'Changes', link: '/changelog' }
    ],
    sidebar,
    socialLinks: [{ icon: 'github', link: 'https://github.com/polyvac/polyvac' }],
    footer: { message: 'MIT License' }
  }
})
