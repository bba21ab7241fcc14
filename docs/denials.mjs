// Sentences of pages that deny something. test/docs.test.ts wants a row of docs/claims.mjs for each of them, so that a
// page cannot go on denying what the schema of the configuration, the routes or the commands have.
import { readdirSync, readFileSync } from 'node:fs'
import { HostConfigFile } from '@polyvac/host'

const root = new URL('..', import.meta.url)
const read = path => readFileSync(new URL(path, root), 'utf8')

/** Words that deny a feature, whatever it is. */
const DENIAL = new RegExp([
  /\bnot(?: \w+)? yet\b/, /\b(?:not|never|n't)(?: \w+)? (?:supported|planned|implemented|configurable|offered|possible|part of Polyvac)\b/,
  /\b(?:is|are) (?:not available|unavailable|impossible|out of scope)\b/, /\bunsupported by\b/, /\bplans neither\b/, /\bno support\b/,
  /\b(?:does|do|did|can)(?: ?not|n't) (?:yet )?(?:support|offer|provide|work with|limit|serve)\b/,
  /\b(?:lacks?|lacking) (?:an? |any )?(?:\S+ )?(?:way|options?|switch(?:es)?|settings?|commands?|routes?|support)\b/, /\bsupport for\b.*\b(?:missing|absent|incomplete)\b/,
  /\b(?:has|have|knows?|takes?|there (?:is|are)|with) no (?:\S+ ){0,3}(?:options?|keys?|switch(?:es)?|settings?|commands?|routes?|plugins?|support|endpoints?|ways?)\b/,
  /\bno (?:configuration |command-line )?(?:options?|switch(?:es)?|settings?|commands?|routes?|plugins?|way) \w+/, /\b(?:has|have|with) neither\b/,
  /\bonly (?:in|from|by|with) (?:code|a program|programs)\b/, /\bin code only\b/, /\bno (?:such )?(?:feature|equivalent)\b/,
  /\b(?:will|may) (?:come|follow|be added|support)\b.*\b(?:later|version|release)\b/, /\bplanned for\b/
].map(({ source }) => source).join('|'), 'i')

/** Words that deny in a sentence that names a key, a route, a command or a feature that exists. */
const WITH_A_NAME = /\b(?:cannot|can ?not|can't|could not|unable|impossible|lacks?|lacking|there (?:is|are) (?:no|not)|(?:has|have|knows?|takes?|offers?|serves?|needs?) (?:no|neither|nothing)|(?:does|do)(?: not|n't) (?:have|know|take|exist|read|set|send|keep|list|start|do)|(?:is|are)(?: not|n't| never| missing| unsupported| left to| absent)|nothing (?:\w+s|can)|none for|only (?:through|one)|have to (?:restart|write)|no longer|not limited|must be written by hand)\b/i

/** What is only not published is the same on each page, and is not looked at. */
const UNPUBLISHED = /\bnot (?:published(?: to npm)?|on npm) yet\b/i

/** Features as readers name them, each with keys, routes or commands that have it. */
const FEATURES = [
  [/\brates?\b(?= (?:are|is|of|limits?|cannot)|\b$)|\brate[ -]limit|\blimits? (?:the )?(?:rates?|requests|callers)\b|\bthrottl/i, ['limits', 'requests_per_minute']],
  [/\bwhere the (?:search )?index is\b|\b(?:place|path|file|folder) of the (?:search )?index\b|\bindex (?:file|path|folder)\b/i, ['index_file']],
  [/\bembeddings?\b|\bembedding models?\b|\bvector search\b|\bsemantic search\b/i, ['embed']],
  [/\bcross-origin\b|\bCORS\b/, ['cors', 'allowed_origins']],
  [/\bsecurity headers\b/i, ['helmet']],
  [/\bauthenticat(?:ion|e[sd]?|ing)\b|\bbearer tokens?\b|\bJWTs?\b|\bAPI keys?\b/i, ['auth', 'tokens', 'jwt']],
  [/\bmetrics\b|\bPrometheus\b|\btraces\b/i, ['telemetry', 'prometheus']],
  [/\bplayground\b|\bweb (?:page|UI)\b/i, ['enable_playground']],
  [/\bgRPC\b/, ['grpc']],
  [/\bPostgres(?:QL)?\b|\breplicas\b|\bseveral machines\b/i, ['url', 'schema']],
  [/\bwebhooks?\b|\bpush notifications?\b/i, ['push', '/a2a/tasks/pushNotification/set']],
  [/\bcancel(?:s|l?ed|l?ing)? (?:a |the )?tasks?\b|\btasks? \w+ be cancell?ed\b/i, ['/a2a/tasks/cancel']],
  [/\bsearch(?:es|ed|ing)? (?:the |a )?memor(?:y|ies)\b|\bsearch routes?\b/i, ['/vac/<vector_name>/search']],
  [/\bOAuth\b|\bsigns? in to (?:an? )?(?:upstream|server)/i, ['oauth', 'per_owner']],
  [/\bOpenAPI\b/, ['openapi', '/mcp/openapi.json']],
  [/\b(?:language )?models?\b(?=.*\bdocuments\b)/i, ['model']],
  [/\bMCP servers?\b/, ['mcp_servers', 'enable_mcp_server']],
  [/\bterminal\b|\bconversation on\b/i, ['chat', 'ask']],
  [/\breload(?:s|ed|ing)?\b(?=.*\bconfiguration\b)|\bchange of the configuration\b/i, ['service']],
  [/\bbounds? (?:on|of|for) (?:bodies|a body|requests|connections)\b/i, ['body', 'connections']],
  [/\bPDFs?\b|\bDOCX\b/, ['extensions']]
]

/** The names of all keys of a schema, at any depth, with repetitions. */
function keysOf (schema) {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = schema ?? {}
  const below = [...Object.values(properties), ...Object.values(patternProperties), ...(items === undefined ? [] : [items]), ...anyOf]
  return [...Object.keys(properties), ...below.flatMap(keysOf)]
}

export const keys = new Set(keysOf(HostConfigFile))
/** What callers may ask: the tables of the reference, which the code writes. */
export const routes = new Set(['http', 'a2a-routes', 'mcp-routes'].flatMap(page =>
  [...read(`docs/reference/${page}.md`).matchAll(/^\| [A-Z]+ `(\/[^`]*)` \|/gm)].map(([, path]) => path)))
export const commands = new Set(readdirSync(new URL('apps/polyvac/src/commands/', root)).flatMap(name => /^(?!with-)(\w+)\.ts$/.exec(name)?.[1] ?? []))

const phrases = [...keys].filter(key => key.includes('_')).map(key => key.split('_').join('[ _-]'))
const PHRASE = new RegExp(`\\b(?:${phrases.join('|')})s?\\b`, 'i')
const COMMAND = new RegExp(`\\bpolyvac (?:${[...commands].join('|')})\\b|\\bthe commands? \`?(?:${[...commands].join('|')})\\b`)
const paths = [...routes].map(route => new RegExp(`^${route.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/<\w+>/g, '[^/]+')}$`))

/** The names of keys, routes, commands and features that exist, and that a sentence has. */
export function namesIn (sentence) {
  const inCode = [...sentence.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => {
    const key = /^([\w.]+)(?::.*)?$/.exec(code)?.[1].split('.').at(-1)
    const path = /^(?:[A-Z]+ )?(\/\S+)$/.exec(code)?.[1]
    return keys.has(key) || (path !== undefined && paths.some(pattern => pattern.test(path))) ? [`\`${code}\``] : []
  })
  const inWords = [PHRASE, COMMAND, ...FEATURES.map(([words]) => words)].flatMap(words => words.exec(sentence)?.[0] ?? [])
  return [...inCode, ...inWords]
}

/** Clauses that say which one is meant, or in which case, and links to tests. They deny nothing. */
const CLAUSES = /\[[^\]]*\]\([^)\s]*\.ts\)|\b(?:who|that) (?:is|are|was|were) not\b|\b(?:where|if|while|when|unless)\b(?:`[^`]*`|[^,.;:])*?\b(?:is|are|does) not (?:set|on|known|configured|installed|false|a terminal|know\b)/gi

/** Names of the table that the code does not have: it has to have all of them. */
export const unknownFeatures = FEATURES.flatMap(([, names]) => names.filter(name => !keys.has(name) && !routes.has(name) && !commands.has(name)))

/** The sentences of a line of a page: parts of a paragraph, a list or a row of a table. */
const sentencesOf = line => line.replace(CLAUSES, '').replace(/\]\([^)\s]+\)/g, ']').split(/(?<=[.!?:;]["”)]?) (?=\S)|(?<!\\)\|/)

function denies (sentence, isProse) {
  if (DENIAL.test(sentence)) return true
  const names = isProse ? namesIn(sentence) : []
  return names.length > 0 && (WITH_A_NAME.test(sentence) || names.some(name => /\b(?:no|nor|neither)(?: \S+)? $/i.test(sentence.slice(0, sentence.indexOf(name)))))
}

/** Each sentence of the lines of a page that denies something: `{ line, sentence }`. */
export function denialsOf (lines) {
  let fence
  let isGenerated = false
  return lines.flatMap((line, index) => {
    if (/^<!-- (?:generated|end)/.test(line)) isGenerated = line.startsWith('<!-- generated')
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined && (fence === undefined || mark === fence)) fence = fence === undefined ? mark : undefined
    if (mark !== undefined || UNPUBLISHED.test(line)) return []
    return sentencesOf(line).filter(sentence => denies(sentence, fence === undefined && !isGenerated)).map(sentence => ({ line: index + 1, sentence: sentence.trim() }))
  })
}
