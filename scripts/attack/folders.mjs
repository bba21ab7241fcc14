// Folders of documents that hang, loop or explode, at the start and while the host runs.
import { execFileSync } from 'node:child_process'
import { appendFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jsonOf, modern } from './client.mjs'
import { configuration, startHost, until } from './host.mjs'

const FIFOS = 8
const files = () => ({
  'docs/long-line.md': `# One line\n\n${'word '.repeat(830_000)}`,
  'docs/too-long.md': 'x'.repeat(6 * 1024 * 1024),
  'docs/binary.md': Buffer.from(Array.from({ length: 50_000 }, (_, i) => i % 256)),
  'docs/nested.json': '['.repeat(200_000),
  'docs/quotes.md': `${'>'.repeat(100_000)} deep\n${'#'.repeat(50_000)}\n${'- '.repeat(50_000)}\n${'*'.repeat(50_000)}\n${'['.repeat(50_000)}\n${'`'.repeat(50_000)}`,
  'docs/table.md': `|${'a|'.repeat(20_000)}\n|${'-|'.repeat(20_000)}\n`,
  ...Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`docs/many/${i}.md`, `# Page ${i}\n\nPage ${i} is about the number ${i}.\n`])),
  ...Object.fromEntries(Array.from({ length: FIFOS }, (_, i) => [`docs/later-${i}.md`, `# Later ${i}\n\nThis page is replaced.\n`]))
})

function prepare (folder) {
  const docs = join(folder, 'docs')
  execFileSync('mkfifo', [join(docs, 'fifo.md')])
  symlinkSync(docs, join(docs, 'loop'))
  symlinkSync('self', join(docs, 'self'))
  symlinkSync('/dev/zero', join(docs, 'zero.md'))
  symlinkSync('/etc/passwd', join(docs, 'passwd.md'))
  writeFileSync(join(docs, 'a\u001b]0;title\u0007\n\u202eb.md'), '# Odd name\n\nA page of an odd name about zebras.\n')
  writeFileSync(join(docs, `${'n'.repeat(250)}.md`), '# Long name\n\nA page of a long name.\n')
}

const ask = (context, question) => context.post('/vac/docs', { user_input: question })

export const group = {
  host: () => ({ files: files(), prepare }),
  entries: context => [
    {
      name: 'the folder at the start',
      async attack () {
        const ready = await until(async () => (await context.send({ path: '/ready' })).status === 200)
        return { ready, seen: await ask(context, 'Who counts the ships at night?') }
      },
      holds: ({ ready, seen }) => [...ready ? [] : ['not ready'], ...seen.text.includes('lighthouse') ? [] : [`${seen.status} ${seen.text.slice(0, 200)}`]]
    },
    {
      name: 'a link that leads out of the folder',
      attack: () => ask(context, 'root bin bash nologin daemon'),
      holds: ({ text }) => text.includes('/root:') ? ['its content is an answer'] : []
    },
    {
      name: 'control characters of a file name',
      attack: () => ask(context, 'What is about zebras?'),
      holds: ({ text }) => text.includes('\u001b') ? ['raw control characters in the answer'] : []
    },
    {
      name: 'files become FIFOs while the host runs',
      async attack () {
        for (let i = 0; i < FIFOS; i++) {
          const path = join(context.host.folder, `docs/later-${i}.md`)
          execFileSync('mkfifo', [`${path}.fifo`])
          renameSync(`${path}.fifo`, path)
        }
        const { body, headers } = modern('resources/list')
        const { resources = [] } = jsonOf(await context.post('/mcp', body, headers))?.result ?? {}
        const uris = resources.map(({ uri }) => uri).filter(uri => /later|fifo|zero/.test(uri)).slice(0, 12)
        const reads = await Promise.all(uris.map(uri => {
          const { body, headers } = modern('resources/read', { uri })
          return context.post('/mcp', body, { ...headers, 'mcp-name': uri }, { ms: 20_000 })
        }))
        return { tried: FIFOS, reads, seen: await ask(context, 'Who counts the ships at night?'), added: await follows(context) }
      },
      holds: ({ seen, added, reads }) => [
        ...seen.text.includes('lighthouse') ? [] : [`${seen.status} ${seen.text.slice(0, 200)}`], ...added ? [] : ['a new file is not found'],
        ...reads.filter(({ status }) => status === 0 || status >= 500).slice(0, 2).map(({ status, text }) => `reading one: ${status} ${text.slice(0, 100)}`)
      ],
      repro: 'mv a FIFO over 8 indexed files; read them as resources; SIGTERM'
    },
    {
      name: 'a file that grows and goes',
      async attack () {
        const path = join(context.host.folder, 'docs/moving.md')
        for (let i = 0; i < 200; i++) {
          appendFileSync(path, `Line ${i} of a page that moves.\n`.repeat(50))
          if (i % 20 === 19) rmSync(path)
        }
        return { tried: 200, seen: await ask(context, 'Who counts the ships at night?') }
      },
      holds: ({ seen }) => seen.status === 200 ? [] : [`${seen.status}`]
    },
    {
      name: 'SIGTERM with FIFOs in the folder',
      async attack () {
        const host = await startHost({ prepare, config: configuration() })
        execFileSync('mkfifo', [join(host.folder, 'docs/b.fifo')])
        renameSync(join(host.folder, 'docs/b.fifo'), join(host.folder, 'docs/a.md'))
        await ask({ post: async (path, body) => await (await fetch(host.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).text() }, 'ships')
        return await host.stop()
      },
      holds: ({ code, signal }) => code === 0 ? [] : [`it ends with ${code ?? signal}`]
    }
  ]
}

/** Whether a new file becomes part of the memory. */
async function follows (context) {
  writeFileSync(join(context.host.folder, 'docs/new.md'), '# Walrus\n\nThe walrus sings opera on Thursdays.\n')
  return await until(async () => (await ask(context, 'Who sings opera on Thursdays?')).text.includes('walrus'))
}
