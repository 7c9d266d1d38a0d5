/**
 * The audit log: every change that an operator made, with its author.
 *
 * @module
 */
import { idTime, newId } from "../../platform/ids.ts";
import { keys } from "../keys.ts";
import { scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The operator who made a change, or the service itself. */
export interface Author {
  /**
   * The name of the token, or of the person; `HOOKLAUNCH_ADMIN_TOKEN` for the token of the environment, and
   * `serve --config` and the file for what was applied at start.
   */
  name: string;
  /** The id of the token or the person; absent for the token of the environment. */
  id?: string;
  /** The issuer at which the person has logged in. */
  issuer?: string;
  /** The identifier of the person at the issuer. */
  subject?: string;
}

/** Returns the author of what somebody with some access does. */
export function authorFrom({ name, id, issuer, subject }: Author): Author {
  return {
    name,
    ...(id !== undefined && { id }),
    ...(issuer !== undefined && { issuer }),
    ...(subject !== undefined && { subject }),
  };
}

/** A value that a change set, removed or replaced. Secrets are masked. */
export interface AuditedChange {
  /** A JSON Pointer (RFC 6901) into the record. */
  pointer: string;
  /** Absent when there was none. */
  before?: unknown;
  /** Absent when there is none. */
  after?: unknown;
}

/** One change that an operator made. */
export interface AuditEntry {
  id: string;
  /** RFC 3339. */
  time: string;
  author: Author;
  /** Empty for what was applied at start. */
  remote_ip: string;
  /** The `operationId` of the API. */
  operation: string;
  /** The path of the request, below `/api/v0`. */
  path: string;
  changes: AuditedChange[];
}

/** Stores an entry. It resolves when the entry is on disk. */
export async function writeAudit(
  store: Store,
  entry: Omit<AuditEntry, "id" | "time">,
  now_ms: number,
): Promise<void> {
  const id = newId(now_ms);
  const value: AuditEntry = { id, time: new Date(now_ms).toISOString(), ...entry };
  const bytes = 1_024 + 2 * JSON.stringify(entry.changes).length;
  await store.intake.write([{ key: keys.audit(id), value, bytes }]);
}

/**
 * Returns the ids of the oldest entries that were made before a time.
 *
 * @param after start after this id
 */
export async function auditMadeBefore(
  store: Store,
  before_ms: number,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of scan(store.kv, ["audit"], { after, batchSize: limit })) {
    const id = String(key[1]);
    if (idTime(id) >= before_ms) break;
    ids.push(id);
    if (ids.length === limit) break;
  }
  return ids;
}
