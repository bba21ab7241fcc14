/** A line of a secret is a secret from this length on. */
const MIN_LINE_CHARS = 8

/** Base64 of a part of a secret is looked for from this length on. */
const MIN_BASE64_CHARS = 8

/**
 * The forms of a secret in texts: unchanged, without white space at its ends, within a text of JSON, in a URL, and each
 * line of several, without those that frame a key.
 */
export function plainForms (secret: string): string[] {
  const trimmed = secret.trim()
  const isJson = /^[[{]/.test(trimmed)
  const lines = isJson ? [] : trimmed.split(/\r?\n|\\n/).map(line => line.trim())
  const parts = [secret, trimmed, ...lines.length > 1 ? lines.filter(line => line.length >= MIN_LINE_CHARS && !/\s|^-----/.test(line)) : []]
  return parts.flatMap(part => [part, JSON.stringify(part).slice(1, -1), ...urlForms(part)])
}

function urlForms (text: string): string[] {
  let component
  try {
    component = encodeURIComponent(text)
  } catch {
    // half of a surrogate pair
    return []
  }
  const forms = [component, new URLSearchParams([['', text]]).toString().slice(1)]
  return forms.flatMap(form => [form, form.replace(/%[0-9A-F]{2}/g, hex => hex.toLowerCase())])
}

/**
 * The base64 of a secret, wherever it stands in what was encoded, such as `user:secret` of Basic authentication. The
 * characters at the ends that the neighbours change as well are left out.
 */
export function base64Forms (secret: string): string[] {
  return [0, 1, 2].flatMap(shift => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)])
    const whole = bytes.toString('base64').replace(/=+$/, '')
    const form = whole.slice(shift === 0 ? 0 : shift + 1, bytes.length % 3 === 0 ? undefined : -1)
    return form.length < MIN_BASE64_CHARS ? [] : [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
