/** Whether a text is base64, of the standard or the URL alphabet. */
export function isBase64 (text: string): boolean {
  return text.length % 4 !== 1 && /^[\w+/-]*={0,2}$/.test(text)
}
