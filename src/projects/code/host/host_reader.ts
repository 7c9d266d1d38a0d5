/**
 * Reads a repository by the API of its host.
 *
 * @module
 */
import { FetchError } from "../../../platform/network/fetch_errors.ts";
import { parseJson } from "../../../platform/text/parse_json.ts";
import type { FoundCommit, RemoteReader } from "../remote_reader.ts";
import type { ApiClient } from "./api_client.ts";
import type { CommitPlace, HostPlace } from "./hosts.ts";

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const PART_OF_HASH = /^[0-9a-f]{4,64}$/;
const COMMIT_BYTES_MAX = 1024 * 1024;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Pages of branches that are read at most. */
const PAGES_MAX = 20;

/** Reads one repository. */
export class HostReader implements RemoteReader {
  readonly #place: HostPlace;
  readonly #client: ApiClient;

  constructor(place: HostPlace, client: ApiClient) {
    this.#place = place;
    this.#client = client;
  }

  async find(
    reference: string,
    known: FoundCommit | undefined,
  ): Promise<FoundCommit | undefined> {
    for (const place of this.#placesOf(reference)) {
      const at = await this.#look(place, known?.place === place.path ? known : undefined);
      if (at !== undefined) return at;
    }
    return await this.#expectRepository();
  }

  async isOn(branch: string, commit: string): Promise<boolean> {
    const { api, repository } = this.#place;
    // Gitea compares with no HEAD.
    const base = branch === "HEAD" ? (await this.find(branch, undefined))?.commit : branch;
    if (base === undefined) return false;
    const { path, isIn } = api.history(repository, base, commit);
    const answer = await this.#client.get(path, {
      accept: "application/json",
      bytesMax: PAGE_BYTES_MAX,
    });
    return answer !== undefined && !answer.isKnown && isIn(jsonOf(answer.bytes));
  }

  async branches(): Promise<Record<string, string>> {
    const { api, repository } = this.#place;
    const found: Record<string, string> = {};
    for (let page = 1; page <= PAGES_MAX; page++) {
      const answer = await this.#client.get(api.branches(repository, page), {
        accept: "application/json",
        bytesMax: PAGE_BYTES_MAX,
      });
      const listed = answer === undefined || answer.isKnown ? [] : jsonOf(answer.bytes);
      if (!Array.isArray(listed) || listed.length === 0) break;
      for (const branch of listed) {
        const hash = api.hashOfBranch({ commit: Object(Object(branch).commit) });
        if (typeof hash === "string") found[String(branch.name)] = hash;
      }
    }
    return found;
  }

  async read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined> {
    const { api, repository } = this.#place;
    const answer = await this.#client.get(api.file(repository, path, commit), {
      accept: api.accept.file,
      bytesMax,
    });
    if (answer === undefined || answer.isKnown) return undefined;
    // GitHub lists a folder where it was asked for a file.
    const isList = answer.type.startsWith("application/json") && api.accept.file !== "*/*";
    return isList ? undefined : answer.bytes;
  }

  #placesOf(reference: string): CommitPlace[] {
    const { api, repository } = this.#place;
    if (reference === "HEAD") return [api.head(repository)];
    const lowerCase = reference.toLowerCase();
    if (HASH.test(lowerCase)) return [api.commit(repository, lowerCase)];
    const [, kind, name = reference] = /^refs\/(heads|tags)\/(.+)$/.exec(reference) ?? [];
    return [
      ...kind === "tags" ? [] : [api.branch(repository, name)],
      ...kind === "heads" ? [] : [api.tag(repository, name)],
      ...PART_OF_HASH.test(lowerCase) ? [api.commit(repository, lowerCase)] : [],
    ];
  }

  async #look(
    { path, hashIn }: CommitPlace,
    known: FoundCommit | undefined,
  ): Promise<FoundCommit | undefined> {
    const { title, accept } = this.#place.api;
    const answer = await this.#client.get(path, {
      accept: accept.commit,
      etag: known?.etag,
      bytesMax: COMMIT_BYTES_MAX,
    });
    if (answer === undefined) return undefined;
    if (answer.isKnown) return known;
    const commit = textIn(hashIn, answer.bytes);
    if (commit === undefined || !HASH.test(commit)) {
      throw new FetchError(`${title} names no commit in its answer: check the address of its API`);
    }
    return { commit, place: path, ...(answer.etag === undefined ? {} : { etag: answer.etag }) };
  }

  /** Tells a repository that is not there from a reference that is not. */
  async #expectRepository(): Promise<undefined> {
    const { api, base, repository } = this.#place;
    const options = { accept: "application/json", bytesMax: PAGE_BYTES_MAX };
    if (await this.#client.get(api.branches(repository, 1), options) !== undefined) return;
    throw new FetchError(
      `${api.title} shows no repository at ${base}${repository} (404): it is not there, is empty, or is private and ` +
        `its token is missing or lacks ${api.right}`,
    );
  }
}

function textIn(read: CommitPlace["hashIn"], bytes: Uint8Array): string | undefined {
  try {
    const found = read(new TextDecoder().decode(bytes));
    return typeof found === "string" ? found : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  return parseJson(new TextDecoder().decode(bytes));
}
