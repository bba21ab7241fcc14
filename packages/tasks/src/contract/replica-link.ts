/**
 * What the replicas of one service share besides tasks: streams of texts that one replica appends to and any replica
 * follows. Streams have a bound of entries and of text, their owners a share of all, and each ends at an age.
 */
export interface ReplicaLink {
  /** Names this process: 1 to 40 of `0-9a-z-`, no other process ever has it. */
  readonly id: string
  /** Whether a replica runs; false soon after its process has ended. A replica that closes its store has ended. */
  isAlive (replica: string): Promise<boolean>
  /** Appends entries to a stream, in the order of the calls. Followers on all replicas get them. */
  append (stream: string, texts: readonly string[], options: AppendOptions): Promise<void>
  /**
   * The kept entries after number `after` (default: the newest), then calls `onEntries` with later ones, in order,
   * until `stop` is called. A follower gets an entry within milliseconds; while the connection to the database is lost,
   * once it is back.
   */
  follow (stream: string, after: number | undefined, onEntries: (entries: readonly LinkEntry[]) => void): Promise<Following>
}

/** One text of a stream. Numbers begin at 1, unless the writer sets them. */
export interface LinkEntry { readonly seq: number, readonly text: string }

export interface AppendOptions {
  /** Has its share of what all streams may hold; at its end, the oldest of its streams are deleted. */
  readonly owner: string
  /** Time after the last append until the stream is deleted. */
  readonly ttlMs: number
  /**
   * The number before that of the first text. Default: the highest so far; writers of several replicas leave it out.
   * A stream keeps its entry 0, whatever its bounds. A number that is taken keeps its text, so that the first of
   * several writers of entry 0 wins.
   */
  readonly after?: number | undefined
}

export interface Following {
  readonly entries: readonly LinkEntry[]
  /** Number of the newest entry, or 0. */
  readonly seq: number
  stop (): void
}
