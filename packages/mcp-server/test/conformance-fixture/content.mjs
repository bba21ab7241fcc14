/** A red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A sound without samples. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

export const text = words => ({ type: 'text', text: words })
export const image = { type: 'image', data: PNG, mimeType: 'image/png' }
export const embedded = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } })
