import type { Hit } from '@polyvac/core'
import { yieldToEventLoop } from '@polyvac/core/plugin'

/** Hosts that are named. */
const MAX_HOSTS = 20
/** Characters of one step, and those before them that it searches again, for an address across the border. */
const STEP_CHARS = 8_192
const OVERLAP_CHARS = 2_048
/** Longest address that is read. */
const MAX_ADDRESS = 1_000

/** Places of an address: of a link or an image, of a definition, of an attribute, and in running text. */
const ADDRESSES = [
  String.raw`\]\(\s{0,9}<?`, String.raw`^\s{0,3}\[[^\]\n]{1,200}\]:\s{0,9}<?`,
  String.raw`\b(?:href|src|srcset|action|formaction|poster|data|background|cite|xlink:href)\s{0,9}=\s{0,9}["']?`, String.raw`\burl\(\s{0,9}["']?`
].map(place => `(?<=${place})`).join('|')
const ADDRESS = new RegExp(`(?:${ADDRESSES})[^\\s<>"'\`)\\]]{1,${MAX_ADDRESS}}|\\b[a-z][a-z0-9+.-]{1,20}:[/\\\\]{2}[^\\s<>"'\`)\\]]{1,${MAX_ADDRESS}}|\\bwww\\.[^\\s<>"'\`)\\]/]{1,255}`, 'gim')
const ESCAPED = /\\([!-/:-@[-`{-~])/g
const REFERENCE = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(colon|sol|bsol|period|commat|Tab|NewLine));/gi
const NAMED: Readonly<Record<string, string>> = { colon: ':', sol: '/', bsol: '\\', period: '.', commat: '@', tab: '\t', newline: '\n' }
const NOWHERE = 'https://relative.invalid/'

/** An address of an answer that leads to a host which no passage has. */
export interface ForeignHost {
  /** The host, or the scheme of an address without a host, such as `javascript:`. */
  readonly host: string
  readonly reason: string
}

/**
 * The hosts of links, images and other addresses of an answer that are in no passage and not in the question: a model
 * that follows a planted instruction sends its reader, or what a browser loads, there. At most 20.
 */
export async function foreignHosts (answer: string, passages: readonly Hit[], question: string): Promise<ForeignHost[]> {
  const hosts = new Set<string>()
  for (let at = 0; at < answer.length && hosts.size <= MAX_HOSTS; at += STEP_CHARS) {
    if (at > 0) await yieldToEventLoop()
    const isLast = at + STEP_CHARS >= answer.length
    for (const host of hostsIn(decode(answer.slice(Math.max(0, at - OVERLAP_CHARS), at + STEP_CHARS)), isLast)) hosts.add(host)
  }
  if (hosts.size === 0) return []
  const known = [question, ...passages.map(({ content, metadata }) => [content, metadata['url'], metadata['source']].join('\n'))].map(text => text.toLowerCase())
  return [...hosts].filter(host => !known.some(text => hasHost(text, host))).slice(0, MAX_HOSTS)
    .map(host => ({ host, reason: 'the answer has an address there, and no passage has this host' }))
}

/** As a renderer reads it: without escapes of Markdown, and with references of HTML replaced. */
function decode (text: string): string {
  return text.replace(REFERENCE, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole
    const code = decimal === undefined ? parseInt(hex!, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  }).replace(ESCAPED, '$1')
}

function * hostsIn (text: string, isLast: boolean): Generator<string> {
  for (const { 0: match, index } of text.matchAll(ADDRESS)) {
    // the next step has all of it
    if (!isLast && index + match.length === text.length) continue
    const address = /^www\./i.test(match) ? `https://${match}` : match
    if (!URL.canParse(address, NOWHERE)) continue
    const url = URL.canParse(address) ? new URL(address) : new URL(address, NOWHERE)
    if (url.host === '') yield url.protocol
    else if (url.origin !== new URL(NOWHERE).origin) yield url.hostname.replace(/\.$/, '')
  }
}

/** Whether a text has this host as a whole: `docs.example.org` does not have `example.org`. */
function hasHost (text: string, host: string): boolean {
  for (let at = text.indexOf(host); at !== -1; at = text.indexOf(host, at + 1)) {
    const after = text.slice(at + host.length, at + host.length + 2)
    if (!/[\w.-]/.test(text.charAt(at - 1)) && !/^(?:[\w-]|\.\w)/.test(after)) return true
    if (host.endsWith(':') && !/[\w.-]/.test(text.charAt(at - 1))) return true
  }
  return false
}
