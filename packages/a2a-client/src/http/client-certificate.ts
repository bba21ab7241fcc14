import { readBoundedFile } from '@polyvac/core/plugin'
import { rootCertificates } from 'node:tls'
import { buildConnector } from 'undici'

/** A certificate that proves who asks (mutual TLS). Each value is PEM, or the path of a file with it. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
  /** Certificates to trust besides those of Node.js. */
  readonly ca?: string | undefined
}

/** Longest file in bytes. */
const MAX_PEM_BYTES = 256 * 1024

export function isPem (text: string): boolean { return text.trimStart().startsWith('-----BEGIN ') }

/**
 * Connects with the certificate. Files are read for each connection, since those that a platform issues are replaced
 * before they expire.
 * @param refuse makes the error for a certificate that cannot be used
 */
export function certifiedConnector (certificate: ClientCertificate, options: buildConnector.BuildOptions, refuse: (problem: string) => Error): buildConnector.connector {
  return (target, done) => {
    connect().catch((err: unknown) => { done(err as Error, null) })

    async function connect (): Promise<void> {
      const [cert, key, ca] = await Promise.all((['cert', 'key', 'ca'] as const).map(async name => await pemOf(name)))
      try {
        buildConnector({ ...options, cert, key, ...ca !== undefined && { ca: [...rootCertificates, ca] } })(target, done)
      } catch (err) {
        throw Object.assign(refuse('`cert` and `key` are not a certificate and its private key as PEM'), { cause: err })
      }
    }
  }

  async function pemOf (name: keyof ClientCertificate): Promise<string | undefined> {
    const given = certificate[name]
    if (given === undefined || isPem(given)) return given
    try {
      return (await readBoundedFile(given, MAX_PEM_BYTES)).toString('utf8')
    } catch (err) {
      throw Object.assign(refuse(`the file of \`${name}\` cannot be read`), { cause: err })
    }
  }
}
