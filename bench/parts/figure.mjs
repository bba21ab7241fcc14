import { quantile } from './statistics.mjs'

/**
 * One measured figure with its bar.
 * @param what the name of the figure for readers
 * @param value
 * @param unit
 * @param bar `{ atLeast }` or `{ atMost }`, in the same unit; `{}` for a figure that explains others
 * @param more p50, p99 (ms), rss (bytes), spread (the quartiles, in the unit) and further raw results
 */
export function figure (what, value, unit, bar, more = {}) {
  const { atLeast, atMost } = bar
  const met = (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost)
  return { what, value, unit, bar, met, ...more }
}

/** The median of shares as a figure in percent, with the quartiles as its spread. */
export function shareFigure (what, shares, bar, more = {}) {
  const percent = share => quantile(shares, share) * 100
  return figure(what, percent(0.5), '%', bar, { spread: [percent(0.25), percent(0.75)], ...more })
}

const MB = 1024 * 1024
export const toMb = bytes => bytes / MB
