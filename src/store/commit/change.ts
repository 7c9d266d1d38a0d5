/**
 * Changes of what is stored.
 *
 * @module
 */

/** One key to write, or to delete when `value` is undefined. */
export interface Write {
  key: Deno.KvKey;
  value?: unknown;
  /** An upper bound of the value's stored size, where it may exceed 1 KiB. */
  bytes?: number;
  /** Writes of one batch with the same name become one: the last stands. */
  sharedAs?: string;
}

/**
 * A record that changes are decided on, and that several instances may change. A commit checks that it is
 * as it was read, and rewrites it: of two commits that are decided on the same state, one is stored.
 */
export interface Guard {
  readonly key: Deno.KvKey;
  /** Of the record as it was read; null when there was none. */
  readonly versionstamp: string | null;
  /** The value that a commit stores; undefined to remove the record. */
  readonly value: unknown;
  /** Notes that a commit has rewritten the record. */
  stored(versionstamp: string): void;
  /** Notes that another instance has rewritten the record: it must be read again. */
  invalidate(): void;
}

/** Writes that are stored together or not at all. */
export interface Change {
  /** The records that `writes` is decided on, where several instances share the database. */
  readonly guards?: readonly Guard[];
  /**
   * Reads what `writes` is decided on; undefined when that is known and has not changed. Asked before
   * `writes`, where several instances share the database.
   */
  refresh?(): Promise<void> | undefined;
  /** Notes the commit that has stored the change, where several instances share the database. */
  stored?(versionstamp: string): void;
  /**
   * Makes the writes, at the moment at which the batch is put together; an empty list writes
   * nothing. Changes are asked in the order in which they came, and no other batch is under way: what
   * is decided here on the ground of what is stored stays true until it is stored itself.
   */
  writes(): readonly Write[];
  /** Takes back what `writes` changed in memory, when the batch could not be stored. */
  undo?(): void;
  /** Set when the change leaves work for the worker, unless it writes nothing. */
  wakes?: boolean;
  /**
   * Returns true when nobody waits for the change any more. It is not sent then. If it was sent before and
   * turns out stored, it is withdrawn.
   */
  isAbandoned?(): boolean;
  /** The change that takes this one back. */
  readonly withdrawal?: Pick<Change, "writes" | "undo" | "guards" | "refresh">;
}
