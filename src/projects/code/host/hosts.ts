/**
 * The APIs of code hosts: where each has branches, tags, commits and files.
 *
 * @module
 */

import { percentDecode } from "../../../platform/network/urls.ts";
import { HOST_KINDS, type HostKind } from "./kinds.ts";

/** A place of the API that names a commit. */
export interface CommitPlace {
  path: string;
  /** Returns the commit's hash in an answer; undefined when it is not there. */
  hashIn(answer: string): unknown;
}

/** A place of the API that tells if a commit is in the history of a branch. */
interface HistoryPlace {
  path: string;
  /** Reads it from an answer. */
  isIn(answer: unknown): boolean;
}

/** The API of a kind of host. Paths start at the base of the API. */
export interface HostApi {
  /** The name of the host, for messages. */
  title: string;
  /** The right that a token needs. */
  right: string;
  /** Host names that are of this kind. */
  known: readonly string[];
  /** Returns the base of the API, for an origin and the part of the path in front of the repository. */
  base(origin: string, prefix: string): string;
  /** True when all of an address's path names the repository: groups in groups. */
  hasGroups: boolean;
  headers: Readonly<Record<string, string>>;
  authorization(token: string): string;
  accept: { commit: string; file: string };
  /** Returns the path of a repository. */
  repository(name: string): string;
  head(repository: string): CommitPlace;
  branch(repository: string, name: string): CommitPlace;
  tag(repository: string, name: string): CommitPlace;
  commit(repository: string, hash: string): CommitPlace;
  /** Returns the path of a page of branches, from 1. */
  branches(repository: string, page: number): string;
  /** Returns the commit of a branch in that list. */
  hashOfBranch(branch: { commit: Record<string, unknown> }): unknown;
  /** Returns where it is told if a commit is in the history of a branch, or of `HEAD`. */
  history(repository: string, branch: string, commit: string): HistoryPlace;
  file(repository: string, path: string, commit: string): string;
  /** Returns the path of an archive of a commit's files, `tar.gz`. */
  archive(repository: string, commit: string): string;
}

const encode = encodeURIComponent;

/** Encodes the parts of a path. */
function encodePath(path: string): string {
  return path.split("/").map(encode).join("/");
}

/** Reads a field of an answer in JSON. */
function field(...names: string[]): (answer: string) => unknown {
  return (answer) =>
    names.reduce((value: unknown, name) => Object(value)[name], JSON.parse(answer));
}

/** Returns a place that counts the commits that a branch does not have. */
function compared(path: string): HistoryPlace {
  return { path, isIn: (answer) => Object(answer).total_commits === 0 };
}

/** Returns a place of GitHub, whose answer is the hash alone. */
function atGithub(path: string): CommitPlace {
  return { path, hashIn: (answer) => answer.trim() };
}

/** Returns a place of Gitea, without what takes it long to find out. */
function atGitea(repository: string, name: string): CommitPlace {
  const left = "stat=false&verification=false&files=false";
  return { path: `${repository}/git/commits/${encode(name)}?${left}`, hashIn: field("sha") };
}

/** The kinds of hosts, by the names that projects use. */
export const HOSTS: Record<HostKind, HostApi> = {
  github: {
    title: "GitHub",
    right: "read access to the contents of the repository",
    known: ["github.com"],
    base: (origin) => {
      const { host } = new URL(origin);
      // GitHub.com, and GitHub Enterprise Cloud with data residency; else GitHub Enterprise Server.
      return host === "github.com" || host.endsWith(".ghe.com")
        ? `https://api.${host}`
        : `${origin}/api/v3`;
    },
    hasGroups: false,
    headers: { "x-github-api-version": "2022-11-28" },
    authorization: (token) => `Bearer ${token}`,
    accept: { commit: "application/vnd.github.sha", file: "application/vnd.github.raw+json" },
    repository: (name) => `/repos/${encodePath(name)}`,
    head: (repository) => atGithub(`${repository}/commits/HEAD`),
    branch: (repository, name) => atGithub(`${repository}/commits/heads/${encodePath(name)}`),
    tag: (repository, name) => atGithub(`${repository}/commits/tags/${encodePath(name)}`),
    commit: (repository, hash) => atGithub(`${repository}/commits/${encode(hash)}`),
    branches: (repository, page) => `${repository}/branches?per_page=100&page=${page}`,
    hashOfBranch: ({ commit }) => commit.sha,
    history: (repository, branch, commit) =>
      compared(`${repository}/compare/${encode(branch)}...${commit}?per_page=1`),
    file: (repository, path, commit) =>
      `${repository}/contents/${encodePath(path)}?ref=${encode(commit)}`,
    archive: (repository, commit) => `${repository}/tarball/${encode(commit)}`,
  },
  gitlab: {
    title: "GitLab",
    right: "the scope read_api, and the role Reporter",
    known: ["gitlab.com"],
    base: (origin) => `${origin}/api/v4`,
    hasGroups: true,
    headers: {},
    authorization: (token) => `Bearer ${token}`,
    accept: { commit: "application/json", file: "*/*" },
    repository: (name) => `/projects/${encode(name)}/repository`,
    head: (repository) => ({ path: `${repository}/commits/HEAD`, hashIn: field("id") }),
    branch: (repository, name) => ({
      path: `${repository}/branches/${encode(name)}`,
      hashIn: field("commit", "id"),
    }),
    tag: (repository, name) => ({
      path: `${repository}/tags/${encode(name)}`,
      hashIn: field("commit", "id"),
    }),
    commit: (repository, hash) => ({
      path: `${repository}/commits/${encode(hash)}`,
      hashIn: field("id"),
    }),
    branches: (repository, page) => `${repository}/branches?per_page=100&page=${page}`,
    hashOfBranch: ({ commit }) => commit.id,
    // Their newest common commit is the commit itself.
    history: (repository, branch, commit) => ({
      path: `${repository}/merge_base?refs[]=${encode(branch)}&refs[]=${commit}`,
      isIn: (answer) => Object(answer).id === commit,
    }),
    file: (repository, path, commit) =>
      `${repository}/files/${encode(path)}/raw?ref=${encode(commit)}`,
    archive: (repository, commit) => `${repository}/archive.tar.gz?sha=${encode(commit)}`,
  },
  gitea: {
    title: "Gitea",
    right: "the scope read:repository",
    known: ["gitea.com", "codeberg.org"],
    base: (origin, prefix) => `${origin}${prefix}/api/v1`,
    hasGroups: false,
    headers: {},
    authorization: (token) => `token ${token}`,
    accept: { commit: "application/json", file: "*/*" },
    repository: (name) => `/repos/${encodePath(name)}`,
    // Its lists of branches and tags lag behind a push, and show the object of an annotated tag. This asks git.
    head: (repository) => atGitea(repository, "HEAD"),
    branch: (repository, name) => atGitea(repository, `refs/heads/${name}`),
    tag: (repository, name) => atGitea(repository, `refs/tags/${name}`),
    commit: (repository, hash) => atGitea(repository, hash),
    branches: (repository, page) => `${repository}/branches?limit=100&page=${page}`,
    hashOfBranch: ({ commit }) => commit.id,
    history: (repository, branch, commit) =>
      compared(`${repository}/compare/${encode(branch)}...${commit}`),
    file: (repository, path, commit) =>
      `${repository}/raw/${encodePath(path)}?ref=${encode(commit)}`,
    archive: (repository, commit) => `${repository}/archive/${encode(commit)}.tar.gz`,
  },
};

/** Returns the kind of a well-known host; undefined for any other. */
export function knownHost(hostname: string): HostKind | undefined {
  return HOST_KINDS.find((kind) => HOSTS[kind].known.includes(hostname));
}

/** The place of a repository at the API of its host. */
export interface HostPlace {
  api: HostApi;
  /** The base of the API, without a slash at its end. */
  base: string;
  /** The path of the repository. */
  repository: string;
}

/**
 * Returns the place of a repository at its host; undefined when its address names none.
 *
 * @param apiUrl the base of the API, where it is not the usual one
 */
export function hostPlace(
  kind: HostKind,
  address: URL,
  apiUrl: string | undefined,
): HostPlace | undefined {
  const api = HOSTS[kind];
  const parts = percentDecode(address.pathname).replace(/\/+$/, "").replace(/\.git$/, "")
    .split("/").slice(1);
  const nameLength = api.hasGroups ? parts.length : 2;
  const name = parts.slice(-nameLength).join("/");
  const prefix = parts.slice(0, -nameLength).map((part) => `/${encode(part)}`).join("");
  if (parts.length < 2 || parts.some((part) => part === "" || part === "." || part === "..")) {
    return undefined;
  }
  const base = (apiUrl ?? api.base(address.origin, prefix)).replace(/\/+$/, "");
  return { api, base, repository: api.repository(gitlabName(api, name, apiUrl, address)) };
}

/** Leaves out the path at which a GitLab is installed, which its `api_url` names. */
function gitlabName(
  { hasGroups }: HostApi,
  name: string,
  apiUrl: string | undefined,
  { origin }: URL,
): string {
  if (!hasGroups || apiUrl === undefined || !apiUrl.startsWith(`${origin}/`)) return name;
  const installed = new URL(apiUrl).pathname.replace(/\/api\/v4\/?$/, "").slice(1);
  return installed !== "" && name.startsWith(`${installed}/`)
    ? name.slice(installed.length + 1)
    : name;
}
