/**
 * Reads any repository over https with isomorphic-git, where there is neither git nor a disk.
 *
 * @module
 */
import git, { type GitHttpRequest, type GitHttpResponse } from "isomorphic-git";
import { joinedBytes } from "../../../platform/joined_bytes.ts";
import type { Network } from "../../../platform/network/connection.ts";
import { FetchError, TransientError } from "../../../platform/network/fetch_errors.ts";
import type { Answer } from "../../../platform/network/http_exchange.ts";
import { retryAfter_ms } from "../../../platform/network/retry_after.ts";
import { mapValues } from "../../../platform/objects.ts";
import { askHost } from "../ask_host.ts";
import type { FoundCommit, RemoteReader } from "../remote_reader.ts";
import { MemoryFiles, tooLarge } from "./memory_files.ts";

const HASH = /^[0-9a-f]{40}$/;
const PART_OF_HASH = /^[0-9a-f]{4,40}$/;
/** The longest list of references: more than 100,000. */
const REFS_BYTES_MAX = 16 * 1024 ** 2;
/** The largest commit, packed, and the memory that it may take unpacked with its index. */
const PACK_BYTES_MAX = 32 * 1024 ** 2;
const MEMORY_BYTES_MAX = 48 * 1024 ** 2;
const FOLDER = "/repository";
const REMOTE = "origin";

/** Options of {@linkcode HttpsReader}. */
interface HttpsReaderOptions {
  /** The address, without credentials. */
  url: URL;
  username: string;
  password: string;
  network: Network;
  signal: AbortSignal;
}

/** Reads one repository. */
export class HttpsReader implements RemoteReader {
  readonly #options: HttpsReaderOptions;

  constructor(options: HttpsReaderOptions) {
    this.#options = options;
  }

  async find(reference: string): Promise<FoundCommit | undefined> {
    const hash = reference.toLowerCase();
    // Reading it tells if it is there.
    if (HASH.test(hash)) return { commit: hash };
    const refs = await this.#refs();
    const commit = commitIn(refs, reference);
    return commit === undefined ? undefined : { commit };
  }

  /** Finds the newest commit of a branch alone: the history is not read. */
  async isOn(branch: string, commit: string): Promise<boolean> {
    return commitIn(await this.#refs(), branch) === commit;
  }

  async branches(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const [ref, commit] of await this.#refs()) {
      if (ref.startsWith("refs/heads/")) found[ref.slice("refs/heads/".length)] = commit;
    }
    return found;
  }

  async read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined> {
    if (!HASH.test(commit)) {
      throw new FetchError("its commits have SHA-256 names, which cannot be read without git");
    }
    const fs = new MemoryFiles(MEMORY_BYTES_MAX);
    const cache = {};
    const repository = { fs, dir: FOLDER, cache };
    const { url: { href: url } } = this.#options;
    await git.init({ ...repository, defaultBranch: "main" });
    await git.addRemote({ ...repository, remote: REMOTE, url });
    await this.#told(() =>
      git.fetch({
        ...repository,
        url,
        remote: REMOTE,
        http: this.#http(PACK_BYTES_MAX),
        ref: commit,
        depth: 1,
        singleBranch: true,
        tags: false,
      })
    );
    await git.readCommit({ ...repository, oid: commit }).catch((error) => {
      if (!(error instanceof git.Errors.NotFoundError)) throw error;
      throw new FetchError(
        "its server does not give out this commit: it is not there, or no branch or tag leads to it",
      );
    });
    try {
      const { blob } = await git.readBlob({ ...repository, oid: commit, filepath: path });
      if (blob.length <= bytesMax) return blob.slice();
    } catch (error) {
      if (error instanceof git.Errors.NotFoundError) return undefined;
      if (error instanceof git.Errors.ObjectTypeError) return undefined;
      throw error;
    }
    throw new FetchError(`expected at most ${bytesMax} bytes in ${path}`);
  }

  /** Returns the commits of all references; that of an annotated tag is the one it is of. */
  async #refs(): Promise<Map<string, string>> {
    const { url: { href: url } } = this.#options;
    const listed = await this.#told(() =>
      git.listServerRefs({
        http: this.#http(REFS_BYTES_MAX),
        url,
        peelTags: true,
        protocolVersion: 2,
      })
    );
    return new Map(listed.map(({ ref, oid, peeled }) => [ref, peeled ?? oid]));
  }

  /** Tells what isomorphic-git throws as a failure of the remote. */
  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (error instanceof FetchError || error instanceof TransientError) throw error;
      const code = Object(error).code;
      if (typeof code !== "string") throw error;
      throw new FetchError(`its server gives no answer that git understands (${code})`);
    }
  }

  #http(bytesMax: number) {
    return {
      request: (request: GitHttpRequest): Promise<GitHttpResponse> =>
        this.#request(request, bytesMax),
    };
  }

  async #request(
    { url, method = "GET", headers = {}, body }: GitHttpRequest,
    bytesMax: number,
  ): Promise<GitHttpResponse> {
    const { network, signal, username, password } = this.#options;
    const isNamed = username + password !== "";
    const credentials = new TextEncoder().encode(`${username}:${password}`).toBase64();
    using answer = await askHost({
      url,
      method,
      headers,
      body: body && joinedBytes(await Array.fromAsync(body)),
      authorization: isNamed ? `Basic ${credentials}` : undefined,
      network,
      signal,
    });
    if (answer.status !== 200) throw refusal(answer, isNamed);
    const bytes = await boundedAnswer(answer, bytesMax);
    return {
      url: answer.url.href,
      method,
      statusCode: answer.status,
      statusMessage: "",
      headers: mapValues(answer.headers, String),
      body: oneChunk(bytes),
    };
  }
}

/** Finds a reference: a branch goes before a tag. An abbreviated hash is that of a branch or a tag. */
function commitIn(refs: ReadonlyMap<string, string>, reference: string): string | undefined {
  if (reference === "HEAD") return refs.get("HEAD");
  for (const name of [reference, `refs/heads/${reference}`, `refs/tags/${reference}`]) {
    const commit = name.startsWith("refs/") ? refs.get(name) : undefined;
    if (commit !== undefined) return commit;
  }
  const hash = reference.toLowerCase();
  if (!PART_OF_HASH.test(hash)) return undefined;
  const found = new Set(refs.values().filter((commit) => commit.startsWith(hash)));
  const [commit] = found;
  return found.size === 1 ? commit : undefined;
}

function refusal({ status, headers }: Answer, hasCredentials: boolean): Error {
  if (status === 401 || status === 403) {
    return new FetchError(
      hasCredentials
        ? `its server refuses the credentials (${status}): set their variable to a token that may read it`
        : `its server asks for credentials (${status}): write them as "https://user:{env:NAME}@…" in the address`,
    );
  }
  if (status === 404) {
    return new FetchError(
      "its server has no repository there (404), or shows it only to others: check the address and its token",
    );
  }
  const wait_ms = retryAfter_ms(headers["retry-after"], Date.now());
  if (status === 429) {
    const when = wait_ms === undefined ? "later" : `in ${Math.ceil(wait_ms / 1_000)} s`;
    return new TransientError(`its server refuses more requests for now (429): try again ${when}`);
  }
  if (status >= 500) {
    return new TransientError(`its server fails with status ${status}: try again later`, wait_ms);
  }
  return new FetchError(`its server answers with status ${status}, expected 200`);
}

/** Reads an answer as far as it may be long. */
async function boundedAnswer(answer: Answer, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body()) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return joinedBytes(chunks);
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
  yield await Promise.resolve(bytes);
  return undefined;
}
