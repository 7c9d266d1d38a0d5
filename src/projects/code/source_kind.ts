/**
 * The choice of a project's source: its owner's, or by what this machine has.
 *
 * @module
 */
import type { Project } from "../../store/records/projects.ts";
import { knownHost } from "./host/hosts.ts";
import type { HostKind } from "./host/kinds.ts";

/** The ways to read a repository where it is. */
export type RemoteKind = HostKind | "https";

/** The kinds of sources. `none` is for a project that is a configuration and has no code. */
export type SourceKind = "folder" | "mirror" | RemoteKind | "none";

/**
 * Returns the kind of a project's source.
 *
 * @param mirrors true where git can mirror repositories in the data folder
 */
export function sourceKind(
  { directory, repository, source }: Project,
  mirrors: boolean,
): SourceKind {
  if (directory !== undefined) return "folder";
  if (repository === undefined) return "none";
  return source ?? (mirrors ? "mirror" : knownHost(hostOf(repository)) ?? "https");
}

/** Returns true for a source that keeps no code on this machine. */
export function isRemote(kind: SourceKind): kind is RemoteKind {
  return kind !== "folder" && kind !== "mirror" && kind !== "none";
}

/** Returns the host of an address; a user name may be a placeholder, which no URL can have. */
function hostOf(repository: string): string {
  return URL.parse(repository.replace(/\/\/[^/]*@/, "//"))?.hostname ?? "";
}
