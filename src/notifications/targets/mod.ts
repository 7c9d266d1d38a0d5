/**
 * The kinds of targets: the one list of them.
 *
 * @module
 */
import { chats } from "./chats.ts";
import { commitStatuses } from "./commit_statuses.ts";
import { email } from "./email.ts";
import { ntfy } from "./ntfy.ts";
import type { HttpTargetKind, OtherTargetKind } from "./target.ts";
import { webhook } from "./webhook.ts";

/** All kinds. */
export const targetKinds = [webhook, ...chats, email, ntfy, ...commitStatuses] as const;

/** A kind, by how it is reached. */
type Kind = HttpTargetKind | OtherTargetKind;

const byType = new Map<string, Kind>(targetKinds.map((kind) => [kind.type, kind]));

/** Returns a kind; undefined when this version has none of this type. */
export function targetKind(type: string): Kind | undefined {
  return byType.get(type);
}
