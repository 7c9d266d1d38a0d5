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

/** Writes that are stored together or not at all. */
export interface Change {
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
  withdrawal?: Pick<Change, "writes" | "undo">;
}
