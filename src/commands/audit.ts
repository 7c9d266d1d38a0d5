/**
 * `hooklaunch audit`: the changes that operators made.
 *
 * @module
 */
import type { Command } from "commander";
import type { AuditedChange, AuditEntry } from "../store/records/audit.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printList } from "./console/table.ts";
import { listLimit } from "./input/options.ts";

interface AuditOptions extends ApiOptions {
  operation?: string;
  limit: number;
}

/** Defines the command. */
export function defineAudit(command: Command): void {
  apiOptions(
    command.description(
      "List the changes that operators made, newest first: who made each, from where, and what it " +
        "changed. Secrets are masked.",
    ),
  )
    .option("--operation <id>", "only those of this operation, such as createTrigger")
    .addOption(listLimit())
    .option("--json", "print JSON")
    .action(audit);
}

async function audit({ url, json = false, limit, operation }: AuditOptions): Promise<void> {
  const query = { operation };
  printList(await clientOf(url).list<AuditEntry>("audit/", { limit, query }), [
    ["time", ({ time }) => time],
    ["by", ({ author }) => author.name],
    ["from", ({ remote_ip }) => remote_ip],
    ["operation", ({ operation }) => operation],
    ["path", ({ path }) => path],
    ["changed", ({ changes }) => changes.map(shown).join(", ")],
  ], { json });
}

function shown({ pointer, before, after }: AuditedChange): string {
  const place = pointer === "" ? "" : `${pointer}: `;
  if (before === undefined) return `${place}+${JSON.stringify(after)}`;
  if (after === undefined) return `${place}-${JSON.stringify(before)}`;
  return `${place}${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}
