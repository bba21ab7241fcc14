import { toMb } from './parts/figure.mjs'

const HEAD = ['figure', 'measured', 'quartiles', 'bar', '', 'p50', 'p99', 'CPU', 'RSS']

/** The figures as a person reads them in a terminal. */
export function printTable (results, where) {
  process.stdout.write(`\n${where}\n`)
  const rows = results.map(({ figures }) => figures.map(cells))
  const widths = HEAD.map((head, i) => Math.max(head.length, ...rows.flat().map(row => row[i].length)))
  const line = row => `  ${row.map((cell, i) => i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join('  ')}\n`
  results.forEach(({ name, title }, i) => {
    process.stdout.write(`\n${name}: ${title}\n${line(HEAD)}${rows[i].map(line).join('')}`)
  })
}

/** How much worse than the kept figure a figure may be: most differ so much between two runs of the same code. */
const TOLERANCE = 0.2

/** Names the figures that are worse than those of results.json, which are the budget. */
export function printWorse (results, kept) {
  for (const { name, figures } of results) {
    const budget = new Map(kept.find(before => before.name === name)?.figures.map(({ what, value }) => [what, value]))
    for (const { what, value, unit, bar } of figures) {
      const before = budget.get(what)
      if (before === undefined) continue
      const isWorse = bar.atLeast === undefined ? bar.atMost !== undefined && value > before * (1 + TOLERANCE) : value < before * (1 - TOLERANCE)
      if (isWorse) process.stdout.write(`\nworse than the budget: ${name}: ${what}: ${withUnit(value, unit)}, ${withUnit(before, unit)} in bench/results.json\n`)
    }
  }
}

/** The same for the documentation. */
export function markdownTable (results) {
  const line = row => `| ${row.join(' | ')} |\n`
  const rows = results.flatMap(({ figures }) => figures.map(cells))
  return line(HEAD) + line(HEAD.map((_, i) => i === 0 ? '---' : '---:')) + rows.map(line).join('')
}

export function withUnit (value, unit) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`
}

export function barText ({ atLeast, atMost }, unit) {
  if (atLeast === undefined && atMost === undefined) return ''
  return atLeast === undefined ? `<= ${atMost} ${unit}` : `>= ${atLeast} ${unit}`
}

function cells ({ what, value, unit, spread, bar, met, p50, p99, cpuUs, rss }) {
  const ms = time => time === undefined ? '' : withUnit(time, 'ms')
  return [
    what, withUnit(value, unit), spread === undefined ? '' : spread.map(value => withUnit(value, '').trim()).join(' to '), barText(bar, unit), Object.keys(bar).length === 0 ? '' : met ? 'met' : 'not met',
    ms(p50), ms(p99), cpuUs === undefined ? '' : withUnit(cpuUs, 'µs'), rss === undefined ? '' : `${toMb(rss).toFixed(0)} MB`
  ]
}
