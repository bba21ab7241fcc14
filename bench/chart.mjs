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
