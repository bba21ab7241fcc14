import type { EvalResult } from './evaluate.js'

/** What XML 1.0 has no way to write, besides line ends and tabs. */
const UNWRITABLE = /(?![\n\t])[\p{Cc}\p{Cs}\ufffe\uffff]/gu
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;' }

/** Results as a file of JUnit, which CI services read. @param suite the name of the file with the cases */
export function junitOf (suite: string, vac: string, results: readonly EvalResult[]): string {
  const count = (result: EvalResult['result']): number => results.filter(one => one.result === result).length
  const totals = `tests="${results.length}" failures="${count('failed')}" errors="${count('error')}" time="${seconds(results.reduce((sum, { ms }) => sum + ms, 0))}"`
  const cases = results.map(({ question, result, problems, ms }) => {
    const head = `    <testcase classname="${escaped(vac)}" name="${escaped(question)}" time="${seconds(ms)}"`
    if (result === 'passed') return `${head}/>\n`
    const tag = result === 'failed' ? 'failure' : 'error'
    return `${head}>\n      <${tag} message="${escaped(problems[0] ?? '')}">${escaped(problems.join('\n'))}</${tag}>\n    </testcase>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${totals}>
  <testsuite name="${escaped(suite)}" ${totals}>
${cases.join('')}  </testsuite>
</testsuites>
`
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3)

/** A text for an attribute or an element. */
function escaped (text: string): string {
  return text.replace(UNWRITABLE, '').replace(/[&<>"\n\t]/g, character => ENTITIES[character]!)
}
