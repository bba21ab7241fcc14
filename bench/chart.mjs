import { barText, withUnit } from './table.mjs'

const WIDTH = 860
const ROW = 26
const LABEL = 390
const TRACK = 300
/** Every bar has the same position, so that the chart shows at a glance which figures reach theirs. */
const BAR_AT = 0.6

/** The figures as an SVG: the share of its bar that each figure uses or reaches. */
export function chart (results, where) {
  const parts = []
  let y = 30
  for (const { title, figures } of results) {
    y += 14
    parts.push(text(16, y + 12, title, 'class="title"'))
    y += ROW
    for (const figure of figures.filter(({ bar }) => Object.keys(bar).length > 0)) {
      parts.push(row(y, figure))
      y += ROW
    }
  }
  const height = y + 20
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Polyvac: measured figures and their bars">
<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600 } .small { font-size: 12px; fill: #57606a }
  .track { fill: #eaeef2 } .met { fill: #2da44e } .missed { fill: #cf222e } .bar { stroke: #24292f; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .track { fill: #21262d } .bar { stroke: #e6edf3 }
  }
</style>
${text(16, 20, `${where}; the upright line is the bar`, 'class="small"')}
${parts.join('\n')}
</svg>
`
}

const PLOT = { left: 60, top: 50, width: 560, height: 260, most: 2, decades: 5 }
const LINES = ['#0969da', '#2da44e', '#cf222e', '#8250df', '#bf8700']

/** How the CPU time of a request grows with what there is besides it, from the figures with points, as an SVG. */
export function growthChart (results, where) {
  const { left, top, width, height, most, decades } = PLOT
  const xOf = count => left + Math.log10(count) / decades * width
  const yOf = multiple => top + height * (1 - Math.min(most, multiple) / most)
  const series = results.flatMap(({ figures }) => figures).filter(({ points }) => points !== undefined)
  const lines = series.map(({ what, points }, i) => {
    const path = points.map(({ count, multiple }) => `${xOf(count).toFixed(1)},${yOf(multiple).toFixed(1)}`).join(' ')
    const { us } = points.at(-1)
    return `<polyline points="${path}" fill="none" stroke="${LINES[i]}" stroke-width="2"/>` +
      text(left + width + 30, top + 14 + i * ROW, `${what.replace(/^with /, '')}: ${withUnit(us, 'µs')}`, `style="fill:${LINES[i]}"`)
  })
  const xs = Array.from({ length: decades + 1 }, (_, i) => text(xOf(10 ** i) - 10, top + height + 20, (10 ** i).toLocaleString('en'), 'class="small"'))
  const ys = [0, 0.5, 1, 1.5, 2].map(multiple => text(left - 36, yOf(multiple) + 4, `${multiple} ×`, 'class="small"') + `<line class="grid" x1="${left}" x2="${left + width}" y1="${yOf(multiple)}" y2="${yOf(multiple)}"/>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + 60} ${top + height + 40}" role="img" aria-label="Polyvac: CPU time of a request among few and many">
<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f } .small { font-size: 12px; fill: #57606a } .grid { stroke: #d0d7de }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d } }
</style>
${text(16, 24, `CPU time of a request, multiple of one among few; ${where}`, 'class="small"')}
${[...ys, ...xs, ...lines].join('\n')}
</svg>
`
}

function row (y, { what, value, unit, bar, met }) {
  const share = Math.min(1, value / (bar.atLeast ?? bar.atMost) * BAR_AT)
  const x = LABEL + TRACK * BAR_AT
  return [
    text(28, y + 13, what),
    `<rect class="track" x="${LABEL}" y="${y}" width="${TRACK}" height="16" rx="3"/>`,
    `<rect class="${met ? 'met' : 'missed'}" x="${LABEL}" y="${y}" width="${Math.max(2, TRACK * share).toFixed(1)}" height="16" rx="3"/>`,
    `<line class="bar" x1="${x}" x2="${x}" y1="${y - 3}" y2="${y + 19}"/>`,
    text(LABEL + TRACK + 10, y + 13, `${withUnit(value, unit)} (${barText(bar, unit)})`, 'class="small"')
  ].join('\n')
}

function text (x, y, content, attributes = '') {
  const safe = content.replace(/[&<>]/g, sign => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign])
  return `<text x="${x}" y="${y}" ${attributes}>${safe}</text>`
}
