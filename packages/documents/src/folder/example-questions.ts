import type { Hit } from '@polyvac/core'
import { nextTurn } from '../search/time-slices.js'
import { languageOf } from '../language/languages.js'

/** Longest heading that becomes a question, in characters. */
const MAX_CHARS = 80

const IS_QUESTION = /[?？؟]$/
/** Marks of code, numbers and parts: such a heading is not the rest of a sentence. */
const NOT_PLAIN = /[`<>{}[\]|:;=*_/\\()"“”!&+#]|^\d|\.$|\.\w/
/** Headings that name a part of a document, not a subject. */
const PARTS = /^(?:about|appendix|background|change ?log|conclusion|contents|context|decision|details|example|faq|foreword|introduction|licen[cs]e|miscellaneous|next step|note|option|other|overview|preface|reference|resource|result|see also|status|summary|table of contents|title|welcome|why|consequence)s?\b|licen[cs]e$/i
/** Words that begin a request in a heading; some also name things, and count before the words of OBJECT only. */
const VERBS = words(`add allow apply ask avoid bind bound build choose clean combine compare configure connect convert create customise
customize debug define delete deploy disable download edit embed enable encrypt ensure explain extend extract fetch find follow generate get give
handle hide implement import improve include insert install integrate invite join keep learn let limit listen load make manage merge migrate move
obtain open organise organize pay prepare prevent protect provide publish put reach read receive recover reduce register remove rename
renew replace resolve restore retrieve revoke rotate scale secure see select send serve share solve speed specify stop submit subscribe switch take
transfer translate tune uninstall unlock unsubscribe use validate verify wait write`)
const VERBS_OR_NOUNS = words(`access answer arrange assign attach authenticate back block book buy call cancel change charge check claim close
collect copy count cover cut design document draw drop enter escape exchange exit export file filter fix format group help host index issue label
launch link list lock log map mark measure meet model monitor name order pack pause pick plan play post print process query queue rate record
refund release report request reset resize restart resume return review roll run save schedule score search set set-up show sign skip sort split start
state store stream structure style support sync tag test track train transform trust try turn type undo update upgrade upload view visit watch work`)
const OBJECT = words(`a an the your my our their its his her this that these those each every all any both one two another more several
it them yourself up down in on off out to from with without by for into over as at again back how what when where which whether who if and or`)

function words (text: string): ReadonlySet<string> { return new Set(text.split(/\s+/)) }

/** A heading that begins like this is understood only with the text above it. */
const LEANS = /^(?:its|their|our|his|her|this|that|these|those|not|no|other|more|all|both|also|same|in|on|at|to|for|from|with|without|by|as|and|or|of)\b/i

interface Example { readonly question: string, readonly rank: number }

/** A heading as a question, with the rank of its form; undefined where it cannot be asked. */
function exampleOf (heading: string): Example | undefined {
  if (IS_QUESTION.test(heading)) return { question: heading, rank: 0 }
  if (NOT_PLAIN.test(heading) || PARTS.test(heading)) return undefined
  const [first = '', second = ''] = heading.split(/\s+/)
  const [verb, next] = [first.toLowerCase(), second.toLowerCase()]
  const rest = `${isName(first) ? first : verb}${heading.slice(first.length)}`
  if (next === 'to' && /^(?:how|when|where)$/.test(verb)) return { question: `${first} do I${rest.slice(`${verb} to`.length)}?`, rank: 1 }
  if (verb === 'when' || verb === 'if') return { question: `What happens ${rest}?`, rank: 1 }
  if (/\b(?:it|this|that|them|these|those)$/i.test(heading)) return undefined
  if (/^(?:who|which|(?:what|where|why|how) (?:is|are|can|do|does|may|must)|how (?:many|much|long|often|fast))\b/i.test(heading)) return { question: `${heading}?`, rank: 1 }
  if (/^(?:wh\w+|how)$/.test(verb)) return undefined
  if (VERBS.has(verb) && second !== '') return { question: `How do I ${rest}?`, rank: 1 }
  if (VERBS_OR_NOUNS.has(verb)) return OBJECT.has(next) ? { question: `How do I ${rest}?`, rank: 1 } : undefined
  if (/^\w{2,}ing$/.test(verb) && OBJECT.has(next)) return { question: `How does ${rest} work?`, rank: 1 }
  return !LEANS.test(heading) && /^\p{L}/u.test(heading) ? { question: `What should I know about ${rest}?`, rank: 2 } : undefined
}

/** A word that has capitals or digits after its first letter, and "I". */
const isName = (word: string): boolean => /^.+[\p{Lu}\p{N}]/u.test(word) || word === 'I'

/**
 * Up to `max` questions that documents answer, from as many of them as there are: headings that are questions, then
 * those that can be asked as one. A heading of another language than English stays unchanged.
 * @param find the passage that answers a question, if one does
 */
export async function findExamples (headings: readonly string[], find: (question: string) => Hit | undefined, max: number): Promise<readonly string[]> {
  const plain = headings.map(heading => heading.trim()).filter(heading => heading.length <= MAX_CHARS && /\p{L}{2}/u.test(heading))
  const examples = [...new Set(plain)].map(heading => ({ heading, ...exampleOf(heading) ?? { question: heading, rank: 3 } })).sort((a, b) => a.rank - b.rank)
  // @keyed none: it has at most the files of a list of bounded length
  const found = new Map<unknown, string>()
  const others: string[] = []
  for (const [index, { heading, question, rank }] of examples.entries()) {
    // a search takes some milliseconds
    await nextTurn()
    let hit = find(question)
    const isEnglish = hit === undefined || (languageOf(`${heading} ${hit.content}`) ?? 'en') === 'en'
    const asked = isEnglish ? question : heading
    if (!isEnglish && asked !== question) hit = find(asked)
    if (hit === undefined || (isEnglish && rank === 3)) continue
    if (found.has(hit.metadata['source'])) others.push(asked)
    else found.set(hit.metadata['source'], asked)
    // better forms are worth more than further files
    if (found.size === max || (found.size + others.length >= max && rank !== examples[index + 1]?.rank)) break
  }
  return [...found.values(), ...others].slice(0, max)
}
