/** Where sign-ins are kept, encrypted: `signIns` of a task store. All replicas share it. */
export interface SignInStore {
  get (owner: string, server: string): Promise<string | undefined>
  /** Replaces the text `before` by `after`; undefined is none. False where another text is stored. */
  replace (owner: string, server: string, before: string | undefined, after: string | undefined): Promise<boolean>
}

/** An agent of another service that owners sign in to. */
export interface SignInAgent {
  readonly url: string
  /** The scheme of its card. */
  readonly scheme: string
  /** Who the service is there, and what it asks for; endpoints without an `issuer` have the origin of `url`. */
  readonly oauth?: {
    readonly client_id?: string | undefined
    readonly client_secret?: string | undefined
    readonly issuer?: string | undefined
    readonly scope?: string | undefined
  } | undefined
}

export interface SignInOptions {
  /** Where tokens are kept, encrypted. Default: memory; they end with the process. */
  readonly store?: SignInStore | undefined
  /** The secret of 32 bytes or more from which the key of the encryption is derived. Default: random. */
  readonly key?: Buffer | string | undefined
  /**
   * Where browsers reach the plugin, with its prefix: `https://agents.example`. Default: the address that the
   * application listens on.
   */
  readonly url?: string | (() => string | undefined) | undefined
  /**
   * Where the client metadata document for a server is, if authorization servers do not reach that of the plugin: its
   * content is that of `/mcp/sign-in/client/<server>`, with this address as `client_id`. Each server needs another
   * address: a document with the redirect URIs of several servers lets one of them receive the codes of the others.
   */
  readonly clientDocument?: ((server: string) => string) | undefined
  /** The agents that owners sign in to with `signIns.forAgent`, by their names, which no server has. */
  readonly agents?: ((name: string) => SignInAgent | undefined) | undefined
}
