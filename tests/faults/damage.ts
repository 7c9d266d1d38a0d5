/**
 * Records of every kind are overwritten by garbage, while the service runs and while it does not. What is
 * whole must work as before, and no answer may be the service's own failure where the damage is known.
 *
 * @module
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "../data.ts";
import type { Findings, Random } from "./findings.ts";

/** The first parts of the keys whose records are damaged. */
export const KINDS = [
  "pending",
  "run",
  "payload",
  "execution",
  "execution_open",
  "pipeline",
  "pipeline_open",
  "trigger",
  "trigger_log",
  "rate",
  "delivery",
  "upload",
  "reusable",
] as const;

/** A kind of record. */
export type Kind = (typeof KINDS)[number];

const TRIGGER = {
  conditions: [
    { type: "rate_limit", period: 3_600, quota: 1_000 },
    { type: "deduplication", in: "header", name: "x-id" },
  ],
  response: { type: "text", text: "{run_id}" },
};

/** Damages records of some kinds at once, one service for each group of kinds. */
export async function damage(
  findings: Findings,
  random: Random,
  groups: readonly (readonly Kind[])[],
): Promise<void> {
  for (const kinds of groups) {
    for (const isDecodable of [true, false]) {
      const what = `${kinds.join(" and ")}, ${
        isDecodable ? "a value that it cannot be" : "bytes that are no value"
      }`;
      try {
        await damageSome(findings, random, { kinds, isDecodable, what });
      } catch (error) {
        findings.check(false, `${what}: ${error instanceof Error ? error.message : error}`);
      }
    }
  }
  findings.say(`${groups.flat().length} kinds of record damaged, each in two ways`);
}

async function damageSome(
  findings: Findings,
  random: Random,
  { kinds, isDecodable, what }: { kinds: readonly Kind[]; isDecodable: boolean; what: string },
): Promise<void> {
  await using service = await startService();
  const victim = await service.trigger(TRIGGER);
  const other = await service.trigger(TRIGGER);
  const runIds = [
    await launch(service, victim.id, random.bytes(100)),
    // Long enough for a record of its own.
    await launch(service, victim.id, random.bytes(5_000)),
  ];
  for (const id of runIds) await endOfRun(service, id);
  const { body: { actions } } = await service.api("GET", `runs/${runIds[0]}/`);
  await endOfExecution(service, actions[0].created.execution_id);
  for (const kind of kinds) await fill(service, kind, victim.id);
  for (const kind of kinds) {
    const damaged = await overwrite(service, random, kind, isDecodable);
    findings.check(damaged > 0, `${what}: there was nothing to damage of ${kind}`);
  }
  const look = async (when: string) => {
    for (const path of paths(victim.id, runIds, actions[0].created.execution_id)) {
      const { status } = await answerOf(service, path);
      // What is damaged may be told as the service's failure; a list must not be hidden by it.
      const isList = path.split("/").length === 2;
      findings.check(!isList || status < 500, `${what}, ${when}: ${path} answers ${status}`);
    }
    service.service.sweep();
    await service.service.cleanUp();
    const whole = await launch(
      service,
      kinds.includes("trigger") ? other.id : victim.id,
      random.bytes(100),
    );
    const run = await endOfRun(service, whole);
    findings.check(run.status === "completed", `${what}, ${when}: a new run is ${run.status}`);
    const execution = await endOfExecution(service, run.actions[0].created.execution_id);
    findings.check(execution.status === "complete", `${what}, ${when}: ${execution.reason}`);
  };
  await look("while it runs");
  await service.restart();
  await look("after a restart");
}

/** Makes a record of a kind that launches alone do not leave behind. */
async function fill({ service }: TestService, kind: Kind, triggerId: string): Promise<void> {
  const { kv } = service.parts.store;
  const id = "01900000-0000-7000-8000-00000000000f";
  const few: Partial<Record<Kind, Deno.KvKey>> = {
    pending: ["pending", id, triggerId],
    execution_open: ["execution_open", id],
    pipeline: ["pipeline", id],
    pipeline_open: ["pipeline_open", id],
    upload: ["upload", id],
    trigger_log: ["trigger_log", triggerId, id],
    reusable: ["reusable", "files", "0".repeat(64)],
  };
  const key = few[kind];
  if (key) await kv.set(key, true);
}

/** Overwrites some records of a kind, at least one; answers how many. */
async function overwrite(
  { service, folder }: TestService,
  random: Random,
  kind: Kind,
  isDecodable: boolean,
): Promise<number> {
  const { kv } = service.parts.store;
  const entries = await Array.fromAsync(kv.list({ prefix: [kind] }));
  // The first trigger is the victim, the second must go on.
  const chosen = kind === "trigger" ? entries.slice(0, 1) : entries;
  if (!isDecodable) {
    // The service may be writing at this moment.
    const database = new DatabaseSync(join(folder, "data", DATABASE_FILE), { timeout: 10_000 });
    const hex = new TextEncoder().encode(kind).toHex().toUpperCase();
    const { changes } = database.prepare(
      "update kv set v = ? where k in (select k from kv where hex(k) like ? || '%' limit ?)",
    ).run(new Uint8Array([0xff, 0x0f, 0xde, random.int(256)]), `02${hex}00`, chosen.length);
    database.close();
    return Number(changes);
  }
  for (const { key } of chosen) {
    await kv.set(key, random.pick<unknown>([null, 7, "garbage", {}, [], random.bytes(20)]));
  }
  return chosen.length;
}

function paths(triggerId: string, runIds: readonly string[], executionId: string): string[] {
  return [
    "triggers/",
    `triggers/${triggerId}/`,
    `triggers/${triggerId}/runs/`,
    `triggers/${triggerId}/log/`,
    ...runIds.flatMap((id) => [
      `runs/${id}/`,
      `runs/${id}/payload/`,
      `launch/${triggerId}/run/?run_id=${id}`,
    ]),
    "executions/",
    `executions/${executionId}/`,
    `executions/${executionId}/log/`,
    "pipelines/",
  ];
}

async function answerOf(service: TestService, path: string): Promise<{ status: number }> {
  const answer = await fetch(`${service.url}/api/v0/${path}`, {
    headers: { authorization: "Bearer an-operators-token-for-tests" },
  });
  await answer.arrayBuffer();
  return answer;
}

async function launch(
  service: TestService,
  triggerId: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const answer = await fetch(`${service.url}/api/v0/launch/${triggerId}/`, {
    method: "POST",
    body,
    headers: { "x-id": crypto.randomUUID() },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`A launch was answered ${answer.status}: ${text}`);
  return text;
}
