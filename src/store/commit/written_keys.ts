/**
 * Records the keys that are written from a moment on. A decision that rests on an earlier read still holds
 * for the keys that were not written since.
 *
 * @module
 */

/** The keys of one kind that were written since a moment. */
export class WrittenKeys implements Disposable {
  readonly #kind: string;
  readonly #keys = new Set<string>();
  readonly #end: () => void;

  constructor(kind: string, onEnd: () => void) {
    this.#kind = kind;
    this.#end = onEnd;
  }

  /** To be told of each key that is written. */
  add(key: Deno.KvKey): void {
    if (key[0] === this.#kind) this.#keys.add(JSON.stringify(key));
  }

  /** Returns true when a key of this kind was set or deleted. */
  has(key: Deno.KvKey): boolean {
    return this.#keys.has(JSON.stringify(key));
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
