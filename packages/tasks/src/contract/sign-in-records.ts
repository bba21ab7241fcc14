/**
 * Texts by owner and server, such as encrypted tokens of upstream servers, which all processes of a store share. The
 * store never reads them.
 */
export interface SignInRecords {
  get (owner: string, server: string): Promise<string | undefined>
  /** Replaces the text `before` by `after`; undefined is none. False where another text is stored. */
  replace (owner: string, server: string, before: string | undefined, after: string | undefined): Promise<boolean>
}
