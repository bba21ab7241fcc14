/** The value below which this share of the values lies; the nearest one that occurred. */
export function quantile (values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]
}

export const median = values => quantile(values, 0.5)
export const max = values => quantile(values, 1)
export const sum = values => values.reduce((total, value) => total + value, 0)
