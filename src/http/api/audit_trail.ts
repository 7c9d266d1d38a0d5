/**
 * The writer of the audit log: it performs a change, and stores who made it and what it changed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import { authorFrom, writeAudit } from "../../store/records/audit.ts";
import { changesBetween } from "../../store/records/audit_changes.ts";
import { dismissalsOf } from "../../store/records/dismissals.ts";
import { listPasskeys } from "../../store/records/passkeys.ts";
import { getProject } from "../../store/records/projects.ts";
import { getReplay } from "../../store/records/replays.ts";
import { listTokens } from "../../store/records/tokens.ts";
import type { Authenticated } from "./auth.ts";
import type { Operator } from "./operator.ts";

const log = getLogger(["hooklaunch", "audit"]);

/** Readers of the records that changes compare, as the API shows them, by the first part of the path. */
const SNAPSHOTS: Readonly<Record<string, (operator: Operator, name: string) => Promise<unknown>>> =
  {
    async triggers({ triggers, store }, id) {
      const trigger = await triggers.get(id);
      const dismissed = trigger && await dismissalsOf(store, id);
      return dismissed?.size ? { ...trigger, dismissed: Object.fromEntries(dismissed) } : trigger;
    },
    async projects({ store, projectSecrets }, name) {
      const project = await getProject(store, name);
      return project && projectSecrets.shown(project);
    },
    async replays({ store }, name) {
      const replay = await getReplay(store, name);
      if (replay === undefined) return undefined;
      const { id, state, filter, rate, only_without_success, commit, body } = replay;
      const has_body = body !== undefined;
      return { id, state, filter, rate, only_without_success, commit, has_body };
    },
    async passkeys({ store }, id) {
      const passkey = (await listPasskeys(store)).find((each) => each.id === id);
      return passkey && { name: passkey.name, owner: passkey.owner };
    },
    async tokens({ store }, id) {
      const token = (await listTokens(store)).find((each) => each.id === id);
      const { last_used_at: _, granted_by: _login, ...settings } = token ?? {};
      return token && settings;
    },
  };

/** A change that is about to be made. */
interface Change {
  /** The `operationId`. */
  operation: string;
  /** The path of the request, below `/api/v0`. */
  path: string;
  /** The id or name in the path; absent for a new record. */
  name: string | undefined;
  /** Values of the request, which are told beside the record that it makes, or where it changes none. */
  told: object | undefined;
  perform(): Promise<Response>;
}

/**
 * Performs a change and writes it into the audit log before it is answered. A change that was refused is not
 * written.
 */
export async function audited(
  { operation, path, name, told, perform }: Change,
  { access, remoteIp }: Authenticated,
  operator: Operator,
): Promise<Response> {
  const snapshot = SNAPSHOTS[path.split("/")[1] ?? ""];
  const before = name === undefined ? undefined : await snapshot?.(operator, name);
  const response = await perform();
  if (response.status >= 400) return response;
  const made = nameOfMade(response);
  const changed = name ?? made;
  const after = changed === undefined
    ? undefined
    : await snapshot?.(operator, changed).catch((error) => {
      log.error("Cannot read what {operation} on {path} has changed: {error}", {
        operation,
        path,
        error: messageOf(error),
      });
      return before;
    });
  const other = name === undefined ? undefined : made === undefined ? told : { id: made, ...told };
  const author = authorFrom(access);
  const entry = {
    author,
    remote_ip: remoteIp,
    operation,
    path,
    changes: [...changesBetween(before, after), ...changesBetween(undefined, other)],
  };
  log.info("{author} performed {operation} on {path}", { author: author.name, operation, path });
  await writeAudit(operator.store, entry, operator.clock.now())
    .catch((error) =>
      log.error("Cannot write the audit log: {error}", { error: messageOf(error) })
    );
  return response;
}

/** The name of a record that was just made: the last part of its address. */
function nameOfMade(response: Response): string | undefined {
  const [, name] = /\/([^/]+)\/$/.exec(response.headers.get("location") ?? "") ?? [];
  return name === undefined ? undefined : decodeURIComponent(name);
}
