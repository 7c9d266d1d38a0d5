/**
 * The record of an HTTP request that is an instance's own. Others may change it, too: the leader stops it, or takes a
 * callback. So each change checks that the record is as it was read.
 *
 * @module
 */
import type { Guard } from "../store/commit/change.ts";
import { keys } from "../store/keys.ts";
import { type HttpRequest, httpRequestIn } from "../store/records/http_requests.ts";

/** A record that a change is decided on. */
export class GuardedRequest implements Guard {
  readonly key: Deno.KvKey;
  readonly #id: string;
  readonly #kv: Deno.Kv;
  #found: unknown = null;
  #isRead = false;
  versionstamp: string | null = null;
  /** The record as a commit stores it. */
  value: unknown;

  constructor(kv: Deno.Kv, id: string) {
    this.#kv = kv;
    this.#id = id;
    this.key = keys.httpRequest(id);
  }

  /** Reads the record; undefined when it is known. */
  refresh(): Promise<void> | undefined {
    return this.#isRead ? undefined : this.#read();
  }

  /** Returns the record as it was read, each time anew; undefined when there is none, or none that is whole. */
  copy(): HttpRequest | undefined {
    return httpRequestIn(this.#id, structuredClone(this.#found));
  }

  stored(versionstamp: string): void {
    this.versionstamp = versionstamp;
  }

  invalidate(): void {
    this.#isRead = false;
  }

  async #read(): Promise<void> {
    const { value, versionstamp } = await this.#kv.get(this.key);
    this.#found = value;
    this.versionstamp = versionstamp;
    this.#isRead = true;
  }
}
