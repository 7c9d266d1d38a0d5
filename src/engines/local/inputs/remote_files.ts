/**
 * Files of `http:` and `https:` URLs. What was fetched is kept: the next time the server is asked whether
 * it has changed, when it said how to ask that, and else the file is fetched anew.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { hash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import { messageOf } from "../../../platform/errors.ts";
import { OneAtATime } from "../../../platform/waiting/serialized.ts";
import { CacheFiles, type Held } from "./cache_files.ts";
import { follow, hashOfUrl } from "./redirects.ts";
import { suggestedName } from "./names.ts";
import { type Network, systemNetwork } from "./network.ts";
import type { Answer } from "./request.ts";
import { SharedWork, type Waiter } from "./shared_work.ts";
import { tellingSilence } from "./stall_timeout.ts";
import { TransientError, withRetries } from "./transient.ts";
import { type Fetched, UrlIndex } from "./url_index.ts";

const BYTES_MAX = 10 * 1024 ** 3;
const URLS_MAX = 10_000;
const HEADER_LENGTH_MAX = 1_024;
const MADE_ROOM = "the disk is full: what was kept of other files is removed";

const log = getLogger(["hooklaunch", "engine"]);

/** What remote files are fetched with. */
export interface RemoteFilesOptions {
  /** Where they are kept. */
  folder: string;
  clock: Clock;
  /** How many bytes are kept at most, except for what is in use. Default 10 GiB. */
  bytesMax?: number;
  network?: Partial<Network>;
}

/** A file that was fetched. It is kept until it is disposed of. */
export interface RemoteFile extends Held {
  /** The name that the server suggests. */
  suggestedName: string | undefined;
  /** Whether it was there already. */
  wasKept: boolean;
}

/** Fetches and keeps files, for all executions. */
export class RemoteFiles {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #network: Network;
  readonly #files: CacheFiles;
  readonly #urls: UrlIndex;
  readonly #fetches = new SharedWork<RemoteFile>();
  #opening: Promise<void> | undefined;
  readonly #pruning = new OneAtATime(() => this.#prune());

  constructor({ folder, clock, bytesMax, network }: RemoteFilesOptions) {
    this.#clock = clock;
    this.#bytesMax = bytesMax ?? BYTES_MAX;
    this.#network = { ...systemNetwork, ...network };
    this.#files = new CacheFiles(join(folder, "files"));
    this.#urls = new UrlIndex(join(folder, "urls"));
  }

  /**
   * Fetches a file and uses it. Those who want the same URL meanwhile share what is fetched.
   *
   * @param privateNetworks whether it may come from an address that is not public
   * @param use is given the file; it must not change it
   * @throws when it cannot be had, with the rest of a sentence about it; or what `use` throws
   */
  async use<R>(
    url: URL,
    privateNetworks: boolean,
    waiter: Waiter,
    use: (file: RemoteFile) => Promise<R>,
  ): Promise<R> {
    const wanted = new URL(url);
    wanted.hash = "";
    // What one project may reach says nothing of what another may.
    const key = hash("sha256", JSON.stringify([wanted.href, privateNetworks]));
    const fetch = (all: Waiter) => this.#fetch(wanted, key, privateNetworks, all);
    return await this.#fetches.use(key, waiter, fetch, use);
  }

  /**
   * Does what takes room on the disk. Where there is none, what is kept and not in use is removed, and it is
   * done once more.
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
   * Removes what was not used for longest, until what is kept is within its limits. It is done after each
   * file that is added, once that is not in use any more. Never rejects: what fails is logged.
   */
  prune(): Promise<void> {
    return this.#pruning.run();
  }

  /** Waits until nothing is being fetched or removed any more. */
  async close(): Promise<void> {
    await this.#fetches.settled();
    await this.#pruning.idle();
  }

  /** Whether there is room again after something has failed for want of it. */
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
        // The next one tries again.
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
    using all = tellingSilence(waiter, this.#network.silence_ms);
    const { signal } = all;
    const known = await this.#urls.get(key);
    let held = known && hasValidators(known) ? await this.#files.find(known, signal) : undefined;
    try {
      return await withRetries(async () => {
        const options = { network: this.#network, privateNetworks, signal };
        const validators = held && known;
        const now_ms = this.#clock.now();
        using answer = await follow(url, { ...options, validators, now_ms });
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

/** The validators of an answer; of one without, those that are known. */
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

/** A header that can be sent back. */
function sendable(header: string | undefined): string | undefined {
  return header !== undefined && header !== "" && header.length <= HEADER_LENGTH_MAX &&
      /^[\x20-\x7e]*$/.test(header)
    ? header
    : undefined;
}
