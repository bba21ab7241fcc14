/** Obtains the token of the requests of one connection. */
export interface Authorization {
  /** The value of the header. */
  readonly authorization: string | undefined
  /**
   * Obtains another token after a 401, or after a 403 for a scope that is too small. Resolves with whether there is
   * one.
   * @param used the value that was refused: another one may be there already
   */
  renew (status: number, challenge: string | string[] | undefined, used: string | undefined): Promise<boolean>
  close (): Promise<void>
}
