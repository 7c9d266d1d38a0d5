/**
 * The code of projects whose repositories are read where they are: nothing of them is kept but the commits that
 * references had. Whoever runs the code fetches it.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { ActionError, messageOf, type Problem } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Network } from "../../platform/network/connection.ts";
import { FetchError, TransientError } from "../../platform/network/fetch_errors.ts";
import { hideUserInfo } from "../../platform/network/urls.ts";
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import { firstQuoted } from "../../platform/text/display.ts";
import { InTurn } from "../../platform/waiting/in_turn.ts";
import type { KeptRefs, RefsKeeper } from "../../store/records/project_refs.ts";
import type { Project } from "../../store/records/projects.ts";
import { ApiClient, type RateLimit } from "./host/api_client.ts";
import { HostReader } from "./host/host_reader.ts";
import { hostPlace, HOSTS } from "./host/hosts.ts";
import { isReference } from "./refs.ts";
import { openRemote, originOf, originProblems, type Remote, tokenOf } from "./remote.ts";
import type { RemoteReader } from "./remote_reader.ts";
import type { CodeSource, CommitBranches } from "./source.ts";
import { isRemote, sourceKind } from "./source_kind.ts";

/** References of a project that are remembered: the ones used last. */
const REFS_MAX = 100;
/** Projects whose fetches are shared. */
const FETCHES_MAX = 1_000;
const WHOLE_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;
const NAMES_SHOWN = 20;
/** Branches in whose history a commit is looked for. */
const BRANCHES_MAX = 20;

/** Options of {@linkcode RemoteSource}. */
interface RemoteSourceOptions {
  refs: RefsKeeper;
  env(name: string): string | undefined;
  clock: Clock;
  network: Network;
  fetchTimeout_ms: number;
}

/** Reads repositories where they are. */
export class RemoteSource implements CodeSource {
  readonly #options: RemoteSourceOptions;
  readonly #closing = new AbortController();
  /** The references of each project are looked up one after the other. */
  readonly #turns = new InTurn();
  readonly #limits = new Map<string, RateLimit>();
  /** Fetches by project and origin: those that wait share one. */
  readonly #fetches = new Map<string, CoalescedWork<void>>();

  constructor(options: RemoteSourceOptions) {
    this.#options = options;
  }

  async fetch(project: Project): Promise<undefined> {
    const key = JSON.stringify([project.name, this.#originOf(project)]);
    const fetches = this.#fetches.get(key) ?? new CoalescedWork(() => this.#fetch(project));
    this.#fetches.set(key, fetches);
    evictOldest(this.#fetches, FETCHES_MAX);
    await fetches.run();
  }

  branches(project: Project): Promise<Record<string, string>> {
    return this.#inTurn(
      project,
      "list the branches of the repository",
      (reader) => reader.branches(),
    );
  }

  async resolve(project: Project, reference: string): Promise<string> {
    const kept = await this.#keptOf(project);
    const known = currentRef(kept, reference);
    if (known !== undefined) return known;
    return await this.#inTurn(
      project,
      `find ${JSON.stringify(reference)} in the repository`,
      async (reader) => {
        // Another call may have found it meanwhile.
        const kept = await this.#keptOf(project);
        return currentRef(kept, reference) ?? await this.#find(project, reader, reference, kept);
      },
    );
  }

  async isKept(project: Project): Promise<boolean> {
    return (await this.#keptOf(project)).refs.length > 0;
  }

  read(
    project: Project,
    commit: string,
    path: string,
    bytesMax: number,
  ): Promise<Uint8Array | undefined> {
    const what = `read ${path} of commit ${commit} in the repository`;
    return this.#attempt(project, what, (reader) => reader.read(commit, path, bytesMax));
  }

  branchesWith(
    project: Project,
    commit: string,
    wanted: (branch: string) => boolean,
  ): Promise<CommitBranches> {
    const what = `find the branches of commit ${commit} in the repository`;
    return this.#attempt(project, what, async (reader) => {
      const isOnDefault = await reader.isOn("HEAD", commit);
      const branches: string[] = [];
      const names = Object.keys(await reader.branches()).filter(wanted);
      for (const name of names.slice(0, BRANCHES_MAX)) {
        if (await reader.isOn(name, commit)) branches.push(name);
      }
      return { branches, isOnDefault };
    });
  }

  problems(project: Project): Promise<Problem[]> {
    return originProblems(originOf(project), this.#options.env);
  }

  async forget(projectName: string): Promise<() => void> {
    await this.#turns.run(projectName, () => Promise.resolve());
    return () => this.#limits.delete(projectName);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#turns.settled();
  }

  #fetch(project: Project): Promise<void> {
    return this.#inTurn(project, "fetch the repository", async (reader) => {
      const kept = await this.#keptOf(project);
      await this.#find(project, reader, "HEAD", { ...kept, fetch: kept.fetch + 1 });
    });
  }

  /** Looks a reference up, and remembers it. */
  async #find(
    project: Project,
    reader: RemoteReader,
    reference: string,
    kept: KeptRefs,
  ): Promise<string> {
    const [, before] = kept.refs.find(([name]) => name === reference) ?? [];
    const found = isReference(reference) ? await reader.find(reference, before) : undefined;
    if (found === undefined) throw await unknownReference(reader);
    const others = kept.refs.filter(([name]) => name !== reference);
    await this.#options.refs.put(project.name, {
      ...kept,
      refs: [...others, [reference, { ...found, fetch: kept.fetch }] as KeptRefs["refs"][number]]
        .slice(-REFS_MAX),
    });
    return found.commit;
  }

  /** Returns what is known of a repository: nothing, when the project had another one. */
  async #keptOf(project: Project): Promise<KeptRefs> {
    const origin = this.#originOf(project);
    const kept = await this.#options.refs.get(project.name);
    return kept?.origin === origin ? kept : { origin, fetch: 0, refs: [] };
  }

  #originOf(project: Project): string {
    const kind = sourceKind(project, false);
    return JSON.stringify([kind, project.repository, project.api_url ?? null]);
  }

  /** Does work on a project after all that came before. */
  #inTurn<T>(
    project: Project,
    what: string,
    work: (reader: RemoteReader) => Promise<T>,
  ): Promise<T> {
    return this.#turns.run(project.name, () => this.#attempt(project, what, work));
  }

  /** Does work with a reader. Its failures are told with what was tried, and without credentials. */
  async #attempt<T>(
    project: Project,
    what: string,
    work: (reader: RemoteReader) => Promise<T>,
  ): Promise<T> {
    const { env, fetchTimeout_ms } = this.#options;
    const late = AbortSignal.timeout(fetchTimeout_ms);
    const fail = (detail: string) =>
      new ActionError(`Cannot ${what} of project "${project.name}": ${detail}`);
    let remote: Remote | undefined;
    try {
      remote = await openRemote(originOf(project), { env, knownHostsFile: "" });
      const signal = AbortSignal.any([this.#closing.signal, late]);
      return await work(await this.#readerOf(project, remote, signal));
    } catch (error) {
      if (this.#closing.signal.aborted) throw fail("ended, as the service stops");
      if (late.aborted) throw fail(`given up after ${fetchTimeout_ms / 1_000} s`);
      const isTold = error instanceof FetchError || error instanceof TransientError;
      if (isTold) throw fail(remote?.redact(error.message) ?? error.message);
      if (error instanceof ActionError && remote === undefined) throw fail(messageOf(error));
      throw error;
    }
  }

  async #readerOf(
    project: Project,
    remote: Remote,
    signal: AbortSignal,
  ): Promise<RemoteReader> {
    const { clock, network } = this.#options;
    const kind = sourceKind(project, false);
    const address = URL.parse(remote.url);
    if (address === null || !/^https?:$/.test(address.protocol)) {
      throw new FetchError(
        `${
          hideUserInfo(remote.url)
        } cannot be read without git on this machine: write its https address`,
      );
    }
    if (!isRemote(kind)) throw new TypeError(`Expected a source without a mirror, found ${kind}`);
    if (kind === "https") {
      const { HttpsReader } = await import("./https/https_reader.ts");
      const { HOOKLAUNCH_GIT_USERNAME: username = "", HOOKLAUNCH_GIT_PASSWORD: password = "" } =
        remote.env;
      return new HttpsReader({ url: address, username, password, network, signal });
    }
    const place = hostPlace(kind, address, project.api_url);
    if (place === undefined) {
      const { title } = HOSTS[kind];
      throw new FetchError(
        `${address.href} is no repository of ${title}: expected an address such as https://host/owner/name.git`,
      );
    }
    const limit = this.#limits.getOrInsertComputed(project.name, () => ({ until_ms: 0 }));
    const { api, base } = place;
    const token = tokenOf(remote);
    const client = new ApiClient({ api, base, token, network, clock, signal, limit });
    return new HostReader(place, client);
  }
}

/** Returns the commit of a reference that was found since the last fetch. A hash keeps its commit. */
function currentRef({ refs, fetch }: KeptRefs, reference: string): string | undefined {
  const [, found] = refs.find(([name]) => name === reference) ?? [];
  const isCurrent = found?.fetch === fetch || WHOLE_HASH.test(reference);
  return isCurrent ? found?.commit : undefined;
}

async function unknownReference(reader: RemoteReader): Promise<FetchError> {
  const branches = new Map(Object.entries(await reader.branches()));
  return new FetchError(
    `it is no branch, tag or commit; the branches are ${firstQuoted(branches, NAMES_SHOWN)}`,
  );
}
