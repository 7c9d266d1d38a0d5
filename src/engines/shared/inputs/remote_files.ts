/**
 * Files of `http:` and `https:` URLs, and their cache. A cached file is used again when the server confirms
 * by ETag or Last-Modified that it has not changed; otherwise it is fetched again.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { hash } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import { messageOf } from "../../../platform/errors.ts";
import { type Network, systemNetwork } from "../../../platform/network/connection.ts";
import { TransientError } from "../../../platform/network/fetch_errors.ts";
import type { Answer } from "../../../platform/network/http_exchange.ts";
import { CoalescedWork } from "../../../platform/waiting/coalesced_work.ts";
import type { Held } from "./cache_files.ts";
import { hashOfUrl, requestInput } from "./input_request.ts";
import { suggestedName } from "./names.ts";
import { SharedWork, type Waiter } from "./shared_work.ts";
import { reportStall } from "./stall_timeout.ts";
import { withRetries } from "./retries.ts";
import type { Fetched } from "./url_index.ts";
import type { CopyOptions } from "./checked_copy.ts";
import type { HashedFile } from "../file_hash.ts";

const BYTES_MAX = 10 * 1024 ** 3;
const URLS_MAX = 10_000;
const HEADER_LENGTH_MAX = 1_024;
const MADE_ROOM = "the disk is full: other files are removed from the cache";

/** The setting that lets inputs come from other addresses than public ones. */
const SETTING = "inputs.private_networks of the project's engine";

const log = getLogger(["hooklaunch", "engine"]);

/** The network, and how long it is waited for. Tests replace parts of it. */
export interface InputNetwork extends Network {
  /** The pause after each failed try, in milliseconds. One more try follows the last pause. */
  backoff_ms: readonly number[];
  /** The time without a byte after which the log says so, in milliseconds. */
  stall_timeout_ms: number;
}

const inputNetwork: InputNetwork = {
  ...systemNetwork,
  backoff_ms: [500, 2_000],
  stall_timeout_ms: 30_000,
};

/** Keeps fetched files. */
interface FetchedFiles {
  open(): Promise<void>;
  /** Finds a file; undefined when there is none with this content. */
  find(wanted: HashedFile, signal: AbortSignal): Promise<Held | undefined>;
  add(chunks: AsyncIterable<Uint8Array>, options: CopyOptions): Promise<Held>;
  /** Removes files that nobody uses until the rest has at most so many bytes; true when there were any. */
  prune(bytesMax: number): Promise<boolean>;
}

/** Keeps the last fetch of each URL. */
interface FetchedUrls {
  open(): Promise<void>;
  get(key: string): Promise<Fetched | undefined>;
  put(key: string, record: Fetched): Promise<void>;
  /** Removes the oldest ones. */
  prune(recordsMax: number): Promise<void>;
}

/** A cache of fetched files. */
export interface FetchCache {
  files: FetchedFiles;
  urls: FetchedUrls;
}

interface RemoteFilesOptions {
  cache: FetchCache;
  clock: Clock;
  /** The size of the cache in bytes, without files in use. Default 10 GiB. */
  bytesMax?: number;
  network?: Partial<InputNetwork>;
}

/** A fetched file. It stays in the cache until this is disposed of. */
interface RemoteFile extends Held {
  /** The name that the server suggests. */
  suggestedName: string | undefined;
  /** True when it was in the cache. */
  wasKept: boolean;
}

/** Fetches and caches files, for all executions. */
export class RemoteFiles {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #network: InputNetwork;
  readonly #files: FetchedFiles;
  readonly #urls: FetchedUrls;
  readonly #fetches = new SharedWork<RemoteFile>();
  #opening: Promise<void> | undefined;
  readonly #pruning = new CoalescedWork(() => this.#prune());

  constructor({ cache, clock, bytesMax, network }: RemoteFilesOptions) {
    this.#clock = clock;
    this.#bytesMax = bytesMax ?? BYTES_MAX;
    this.#network = { ...inputNetwork, ...network };
    this.#files = cache.files;
    this.#urls = cache.urls;
  }

  /**
   * Fetches a file and calls `use` with it. Calls for the same URL at the same time share one fetch.
   *
   * @param privateNetworks true when the file may come from an address that is not public
   * @param use must not change the file
   * @throws {StagingError} when the file cannot be fetched; and whatever `use` throws
   */
  async use<R>(
    url: URL,
    privateNetworks: boolean,
    waiter: Waiter,
    use: (file: RemoteFile) => Promise<R>,
  ): Promise<R> {
    const wanted = new URL(url);
    wanted.hash = "";
    // Not every project may reach private networks, so the two do not share a fetch.
    const key = hash("sha256", JSON.stringify([wanted.href, privateNetworks]));
    const fetch = (all: Waiter) => this.#fetch(wanted, key, privateNetworks, all);
    return await this.#fetches.use(key, waiter, fetch, use);
  }

  /**
   * Does work that needs room on the disk. When the disk is full, empties the cache and tries once more.
   */
  async makingRoom<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (error) {
      if (!await this.#makesRoom(error)) throw error;
      return await work();
    }
  }

  /**
   * Removes the least recently used files until the cache is within its limits. Runs after each new file is
   * no longer in use. Never rejects: errors are logged.
   */
  prune(): Promise<void> {
    return this.#pruning.run();
  }

  /** Waits until no fetch and no removal is under way. */
  async close(): Promise<void> {
    await this.#fetches.settled();
    await this.#pruning.idle();
  }

  /** Makes room when an error says that the disk is full. Returns true when files were removed. */
  async #makesRoom(error: unknown): Promise<boolean> {
    const isFull = error instanceof Error && "code" in error && error.code === "ENOSPC";
    return isFull && await this.#files.prune(0);
  }

  async #prune(): Promise<void> {
    try {
      await this.#open();
      await this.#files.prune(this.#bytesMax);
      await this.#urls.prune(URLS_MAX);
    } catch (error) {
      log.warn("Cannot prune the input cache: {error}", { error: messageOf(error) });
    }
  }

  #open(): Promise<void> {
    this.#opening ??= Promise.all([this.#files.open(), this.#urls.open()]).then(
      () => {},
      (error) => {
        // The next call tries again.
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  async #fetch(
    url: URL,
    key: string,
    privateNetworks: boolean,
    waiter: Waiter,
  ): Promise<RemoteFile> {
    await this.#open();
    using all = reportStall(waiter, this.#network.stall_timeout_ms);
    const { signal } = all;
    const known = await this.#urls.get(key);
    let held = known && hasValidators(known) ? await this.#files.find(known, signal) : undefined;
    try {
      return await withRetries(async () => {
        const options = { network: this.#network, privateNetworks, setting: SETTING, signal };
        const validators = held && known;
        const now_ms = this.#clock.now();
        using answer = await requestInput(url, { ...options, validators, now_ms });
        if (answer.status !== 304 || held === undefined || known === undefined) {
          return await this.#keep(key, answer, all).catch(async (error) => {
            if (await this.#makesRoom(error)) throw new TransientError(MADE_ROOM);
            throw error;
          });
        }
        const kept = { ...held, suggestedName: known.file_name, wasKept: true };
        await this.#urls.put(key, { ...known, ...validatorsOf(answer, known) });
        held = undefined;
        return kept;
      }, {
        backoff_ms: this.#network.backoff_ms,
        signal,
        onWait: ({ message }, wait_ms) =>
          all.onNote(`${message}; it is tried again in ${wait_ms / 1_000} s`),
      });
    } finally {
      held?.[Symbol.dispose]();
    }
  }

  async #keep(key: string, answer: Answer, all: Waiter): Promise<RemoteFile> {
    const { headers } = answer;
    const expected = Number(headers["content-length"] ?? NaN);
    if (expected > 0) all.onBytes(expected);
    using unlessReturned = new DisposableStack();
    const held = unlessReturned.use(await this.#files.add(answer.body(), all));
    if (!Number.isNaN(expected) && held.size !== expected) {
      throw new TransientError(`it has ${held.size} bytes and not ${expected}, as its server says`);
    }
    const suggested = suggestedName(headers["content-disposition"]);
    await this.#urls.put(key, {
      sha256: held.sha256,
      size: held.size,
      of: hashOfUrl(answer.url),
      ...validatorsOf(answer),
      ...(suggested === undefined ? {} : { file_name: suggested }),
      fetched_at: new Date(this.#clock.now()).toISOString(),
    });
    unlessReturned.move();
    return {
      ...held,
      suggestedName: suggested,
      wasKept: false,
      [Symbol.dispose]: () => {
        held[Symbol.dispose]();
        void this.prune();
      },
    };
  }
}

function hasValidators({ etag, last_modified }: Fetched): boolean {
  return etag !== undefined || last_modified !== undefined;
}

/** Returns the validators of an answer; without any, the known ones. */
function validatorsOf(
  { headers }: Answer,
  known?: Fetched,
): Pick<Fetched, "etag" | "last_modified"> {
  const etag = sendable(headers.etag) ?? known?.etag;
  const lastModified = sendable(headers["last-modified"]) ?? known?.last_modified;
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { last_modified: lastModified }),
  };
}

/** Returns a header if it can be sent back. */
function sendable(header: string | undefined): string | undefined {
  return header !== undefined && header !== "" && header.length <= HEADER_LENGTH_MAX &&
      /^[\x20-\x7e]*$/.test(header)
    ? header
    : undefined;
}
