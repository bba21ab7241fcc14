/** An id of 128 random bits. `crypto.randomUUID` needs a secure context, which a page of `http://` on a LAN is not. */
export function randomId (): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}
