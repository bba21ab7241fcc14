/**
 * Small named texts that all processes of a store share, such as keys. They are secrets: implementations put neither
 * into a message nor into a log.
 */
export interface SharedValues {
  get (name: string): Promise<string | undefined>
  /** Stores a value where there is none. Resolves to the value that is stored now. */
  putIfAbsent (name: string, value: string): Promise<string>
  /** Replaces the value `before`. False where another one is stored. */
  replace (name: string, before: string, value: string): Promise<boolean>
}
