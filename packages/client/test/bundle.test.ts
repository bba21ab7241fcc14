import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { test } from 'tap'
import type * as core from '@polyvac/core'
import type { Source, Step, Turn } from '../src/index.js'
import { root } from '../../../test/fixtures/pages.js'

/** Bytes of a page that only asks over the direct routes, minified and gzipped. */
const MAX_DIRECT_BYTES = 6 * 1024

async function bundle (contents: string): Promise<{ readonly bytes: number, readonly inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: root }, bundle: true, minify: true, format: 'esm', platform: 'browser', target: ['chrome110', 'firefox110', 'safari16'], write: false, metafile: true
  })
  return { bytes: gzipSync(outputFiles[0]!.contents, { level: 9 }).length, inputs: Object.keys(metafile.inputs) }
}

test('a page bundles only the protocols that it imports, and nothing of Node.js', async t => {
  const direct = await bundle('import { direct } from "@polyvac/client/direct"\nglobalThis.direct = direct')
  t.ok(direct.bytes <= MAX_DIRECT_BYTES, `direct has ${direct.bytes} bytes gzipped; it may have ${MAX_DIRECT_BYTES}`)
  t.notMatch(direct.inputs.join(), /a2a|mcp|openai|responses|conversations/)
  const all = await bundle('import * as client from "@polyvac/client"\nglobalThis.client = client')
  // a built-in would have failed the bundle for browsers
  t.strictSame([...new Set(all.inputs.map(file => /^(?:.*node_modules\/([^/]+)|packages\/([^/]+)|<stdin>)/.exec(file)?.slice(1).find(Boolean)))].sort(), ['client', 'eventsource-parser', undefined])
})

// The client imports no other package of Polyvac, so it has these types a second time. The compiler compares them.
type Same<A, B> = [A, B] extends [B, A] ? true : never
type Loose<T> = T extends object ? { -readonly [Key in keyof T]: Loose<T[Key]> } : T
const same: [Same<Loose<Step>, Loose<core.Step>>, Same<Loose<Turn>, Loose<core.ChatTurn>>, Same<Loose<Source>, Loose<core.SourceDocument>>] = [true, true, true]

test('steps, turns and sources have the types of the core', t => {
  t.strictSame(same, [true, true, true])
  t.end()
})
