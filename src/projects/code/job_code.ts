/**
 * The code that a job fetches itself: from where, and with which credentials.
 *
 * @module
 */
import { TransientError } from "../../platform/network/fetch_errors.ts";
import type { Network } from "../../platform/network/connection.ts";
import type { Project } from "../../store/records/projects.ts";
import { hostPlace, HOSTS } from "./host/hosts.ts";
import { redirectedAddress } from "./redirects.ts";
import { openRemote, originOf, type Remote, tokenOf } from "./remote.ts";
import type { RemoteKind } from "./source_kind.ts";

const LOOK_MS = 10_000;

/** A commit, and how it is fetched. */
export interface JobCode {
  /** The address of the repository, without credentials. */
  url: string;
  commit: string;
  username: string;
  password: string;
  /** An archive of the files, for machines without git. */
  archive?: { url: string; headers: Record<string, string> };
}

/** The surroundings of {@linkcode jobCode}. */
interface JobCodeOptions {
  kind: RemoteKind;
  env(name: string): string | undefined;
  network: Network;
  signal: AbortSignal;
}

/**
 * Returns where a job gets the code of a commit.
 *
 * @throws {ActionError} when a variable with credentials is missing
 * @throws {FetchError} when the repository has moved to where nothing may be fetched
 */
export async function jobCode(
  project: Project,
  commit: string,
  { kind, env, network, signal }: JobCodeOptions,
): Promise<JobCode> {
  const remote = await openRemote(originOf(project), { env, knownHostsFile: "" });
  const { HOOKLAUNCH_GIT_USERNAME: username = "", HOOKLAUNCH_GIT_PASSWORD: password = "" } =
    remote.env;
  const look = { network, signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]) };
  const moved = await redirectedAddress(remote, look).catch((error) => {
    // The job may reach it all the same. Its git follows no redirects.
    if (error instanceof TransientError || look.signal.aborted) return undefined;
    throw error;
  });
  const archive = archiveOf(project, commit, { kind, remote });
  return {
    url: moved?.url ?? remote.url,
    commit,
    username,
    password,
    ...(archive === undefined ? {} : { archive }),
  };
}

function archiveOf(
  { api_url }: Project,
  commit: string,
  { kind, remote }: { kind: RemoteKind; remote: Remote },
): JobCode["archive"] {
  if (kind === "https") return undefined;
  const place = hostPlace(kind, new URL(remote.url), api_url);
  if (place === undefined) return undefined;
  const { api, base, repository } = place;
  const token = tokenOf(remote);
  return {
    url: base + api.archive(repository, commit),
    headers: {
      ...HOSTS[kind].headers,
      ...(token === undefined ? {} : { authorization: api.authorization(token) }),
    },
  };
}
