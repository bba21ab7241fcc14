import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const VERSION = 'v1'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts JSON values with AES-256-GCM. A text opens only for the purpose that it was sealed for. */
export class SealedTexts {
  readonly #key: Buffer

  /** @param secret of 32 bytes or more; the key is derived from it by HKDF, so other uses of it share no key */
  constructor (secret: Buffer | string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'polyvac sign-in to upstream servers', 32))
  }

  seal (value: unknown, purpose: readonly string[]): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(JSON.stringify(purpose)))
    const text = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
    return `${VERSION}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`
  }

  /** Undefined for a text that was sealed with another key, for another purpose, or changed. */
  open (sealed: string, purpose: readonly string[]): unknown {
    const [version, text = ''] = sealed.split('.')
    const bytes = Buffer.from(text, 'base64url')
    if (version !== VERSION || bytes.length <= IV_BYTES + TAG_BYTES) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(JSON.stringify(purpose))).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString()) as unknown
    } catch {
      return undefined
    }
  }

  /** A value that only this key makes of a text. */
  mark (text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}
