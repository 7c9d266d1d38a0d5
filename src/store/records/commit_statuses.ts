/**
 * The list of runs whose commits get a status, and the notifications that set it: one for each status.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The states that the status of a commit has. The first one is no end. */
export const COMMIT_STATES = ["pending", "success", "failure"] as const;

/** The state that the status of a commit has. */
export type CommitState = typeof COMMIT_STATES[number];

/** A status of a commit. */
export interface CommitStatus {
  /** The repository as its host names it. */
  repository: string;
  sha: string;
  /** The name of the status: a commit has one of each. */
  context: string;
  state: CommitState;
  /** The newest run that is about this commit. */
  run_id: string;
  /** The time from which it has this state, RFC 3339. */
  since: string;
  /** The page of the run. */
  url: string;
  /** The owner's words; the usual ones stand where they are absent. */
  description?: string;
}

/** The ids of runs whose actions have ended and whose commits have no final status yet, oldest first. */
export async function dueStatuses({ kv }: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of scan(kv, ["status_due"])) ids.push(String(key[1]));
  return ids;
}

/** Returns the state that was told of a run; undefined when none was. */
export async function toldState({ kv }: Store, runId: string): Promise<string | undefined> {
  const value = await readValue(kv, keys.statusDue(runId));
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The write that lists a run, with the state that was told of it. */
export function statusDueWrite(runId: string, told = ""): Write {
  return { key: keys.statusDue(runId), value: told };
}

/** The write that takes a run off the list. */
export function statusMadeWrite(runId: string): Write {
  return { key: keys.statusDue(runId) };
}

/** Returns the key under which the id of the notification of a status lies. */
export function commitStatusKey(
  notifier: string,
  { repository, sha, context }: Pick<CommitStatus, "repository" | "sha" | "context">,
): Deno.KvKey {
  return keys.commitStatus(notifier, hash("sha256", JSON.stringify([repository, sha, context])));
}

/** Returns the id of the notification that sets a status; undefined when there is none. */
export async function statusNotificationId(
  { kv }: Store,
  notifier: string,
  status: CommitStatus,
): Promise<string | undefined> {
  const value = await readValue(kv, commitStatusKey(notifier, status));
  return typeof value === "string" ? value : undefined;
}
