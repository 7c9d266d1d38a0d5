/**
 * The last fetch of each URL. Each is a small file whose name is a hash: a URL may hold secrets.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";

const TEMPORARY = "tmp-";
const HASH = /^[0-9a-f]{64}$/;

const fetchedSchema = z.object({
  sha256: z.string().regex(HASH),
  /** Bytes. */
  size: z.int().min(0),
  /** A hash of the URL behind all redirects. */
  of: z.string(),
  /** The validators, as in the headers. */
  etag: z.string().optional(),
  last_modified: z.string().optional(),
  /** The name that the server suggests. */
  file_name: z.string().optional(),
  /** RFC 3339. */
  fetched_at: z.string(),
});

/** The record of a fetch. */
export type Fetched = z.infer<typeof fetchedSchema>;

/** A folder of records. Keys are hashes. */
export class UrlIndex {
  readonly #folder: string;
  /** An upper estimate of the number of records; unknown before the first count. */
  #countAbout = Infinity;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates the folder and removes incomplete files of an earlier service. */
  async open(): Promise<void> {
    await Deno.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for await (const { name } of Deno.readDir(this.#folder)) {
      if (name.startsWith(TEMPORARY)) await Deno.remove(join(this.#folder, name));
    }
  }

  /** Reads a record; undefined when there is none, or it is damaged. */
  async get(key: string): Promise<Fetched | undefined> {
    try {
      return fetchedSchema.parse(JSON.parse(await Deno.readTextFile(this.#pathOf(key))));
    } catch {
      return undefined;
    }
  }

  /** Writes a record, and replaces an older one of the same key. */
  async put(key: string, record: Fetched): Promise<void> {
    const path = join(this.#folder, TEMPORARY + crypto.randomUUID());
    try {
      await Deno.writeTextFile(path, `${JSON.stringify(record)}\n`, { mode: 0o600 });
      await Deno.rename(path, this.#pathOf(key));
      this.#countAbout++;
    } catch (error) {
      await Deno.remove(path).catch(() => {});
      throw error;
    }
  }

  /** Removes the oldest records until the limit is kept. */
  async prune(recordsMax: number): Promise<void> {
    if (this.#countAbout <= recordsMax) return;
    // Records that are added from here on count for the next call.
    this.#countAbout = 0;
    const records: { path: string; written_ms: number }[] = [];
    for await (const { name } of Deno.readDir(this.#folder)) {
      if (name.startsWith(TEMPORARY)) continue;
      const path = join(this.#folder, name);
      const info = await Deno.lstat(path).catch(() => undefined);
      records.push({ path, written_ms: info?.mtime?.getTime() ?? 0 });
    }
    records.sort((one, other) => one.written_ms - other.written_ms);
    const tooMany = records.splice(0, Math.max(0, records.length - recordsMax));
    for (const { path } of tooMany) await Deno.remove(path).catch(() => {});
    this.#countAbout += records.length;
  }

  #pathOf(key: string): string {
    return join(this.#folder, `${key}.json`);
  }
}
