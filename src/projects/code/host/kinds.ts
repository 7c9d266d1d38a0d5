/**
 * The names of the code hosts whose APIs are known.
 *
 * @module
 */

/** The kinds of hosts. Forgejo has the API of Gitea. */
export const HOST_KINDS = ["github", "gitlab", "gitea"] as const;

/** A kind of host. */
export type HostKind = typeof HOST_KINDS[number];
