/** Backups of a shared database: scheduled ones of an instance, those of a place without files, and what is restored. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { hash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { backUp } from "../../../src/backup/backup.ts";
import { findBackup } from "../../../src/backup/find.ts";
import { restore, type RestoreOptions } from "../../../src/backup/restore.ts";
import type { BackupJob } from "../../../src/backup/scheduled/job.ts";
import { runHostedBackupJob } from "../../../src/hosted/backup_jobs.ts";
import { isBackupDue } from "../../../src/hosted/pending_work.ts";
import { cleanUp } from "../../../src/runs/cleanup.ts";
import type { Service } from "../../../src/service/service.ts";
import { newId } from "../../../src/platform/ids.ts";
import { FORMAT_VERSION, keys } from "../../../src/store/keys.ts";
import { getExecution, hasEnded } from "../../../src/store/records/executions.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "../../artifacts/s3_server.ts";
import {
  endOfExecution,
  endOfRun,
  eventually,
  startOn,
  startService,
  temporaryFolder,
} from "../../data.ts";
import { has } from "../../needs.ts";
import { denokv } from "../../store/denokv.ts";
import { damageMarked, TO_DAMAGE } from "../../store/fixture.ts";
import { KV_TOKEN, RemoteKv } from "../../store/kv_connect.ts";
import { OPTIONS } from "../fixture.ts";

const AWS = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
};
const KEEP = { hourly: 24, daily: 7, weekly: 4 };
const HOUR_MS = 3_600_000;
/** Records of running processes: a restored database has none of them. */
const OF_PROCESSES = ["instance", "lane", "claimed", "pace_mark"];

/** The records of a database, but for those of processes. */
async function recordsOf(kv: Deno.Kv): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const isOfProcess = OF_PROCESSES.includes(String(key[0])) ||
      ["owner", "owner_sign", "backup_mark"].includes(String(key[1]));
    if (!isOfProcess) found.set(key.join(" "), value);
  }
  return found;
}

/** Sees that retention waits while a database is read: several cleanups end sooner than the service's. */
async function cleanupWaits(service: Service): Promise<void> {
  const { parts } = service;
  const read = Promise.withResolvers<void>();
  const reading = parts.backups?.whileNotRead(() => read.promise);
  let isOver = false;
  const cleaning = service.cleanUp().then(() => isOver = true);
  const { signal } = new AbortController();
  for (let round = 0; round < 3; round++) {
    await cleanUp({ ...parts, retention_days: parts.settings.retention_days, signal });
  }
  assertEquals(isOver, false);
  read.resolve();
  await Promise.all([reading, cleaning]);
}

Deno.test("an instance backs the shared database up and proves it; it is restored to a file and to another database", async () => {
  await using stack = new AsyncDisposableStack();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const folder = stack.use(await temporaryFolder());
  const kv = has("denokv")
    ? stack.use(await denokv(folder.path)).url
    : stack.use(new RemoteKv()).way().url;
  const s3 = hasNoS3 ? undefined : stack.use(await S3Server.start());
  const to = s3?.storage ?? `${folder.path}/backups`;
  if (s3 === undefined) await Deno.mkdir(to);
  const secretKey = "00".repeat(32);
  const backup = { to, every_ms: HOUR_MS, keep: KEEP };
  const service = stack.use(await startService({ settings: { kv, secretKey, backup }, env: AWS }));
  const { url } = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const answer = await fetch(url, { method: "POST", body: "a payload" });
  const run = await endOfRun(service, await answer.text());
  const [{ created: { execution_id: execution } }] = run.actions;
  await endOfExecution(service, execution);
  assertEquals((await service.api("POST", "backups/")).status, 202);
  const { backups, store } = service.service.parts;
  await eventually(async () => (await store.kv.get(keys.backupSentinel())).value ?? undefined, {
    what: "the beginning of the backup",
  });
  const made = await backups?.whileNotRead(async () => (await backups.list()).length);
  assertEquals(made, 1, "the database is read by one at a time");
  await cleanupWaits(service.service);
  await eventually(() => Promise.resolve(backups?.isWorking ? undefined : true));
  const { body: state } = await service.api("GET", "service/");
  assertEquals(state.backup.failures, []);
  assertEquals(state.backup.proof.name, state.backup.last.name);
  assertEquals(state.backup.proof.read_back, undefined);

  const { source } = await findBackup(to, (name) => Object(AWS)[name]);
  const data = `${folder.path}/restored`;
  const report = await restore({ ...OPTIONS, data, source });
  assertEquals(report.flaws, []);
  using restored = await Deno.openKv(`${data}/hooklaunch.kv`);
  const before = await recordsOf(restored);
  assertEquals(Object(before.get(keys.run(run.id).join(" "))).status, "completed");
  assertEquals(Object(before.get(keys.execution(execution).join(" "))).status, "complete");
  await Deno.stat(`${data}/executions/${execution}/control/log`);

  await using other = new RemoteKv();
  const way = other.way();
  const again = async (name: string, options: Partial<RestoreOptions> = {}) => {
    using remote = await Deno.openKv(way.url);
    const { source } = await findBackup(to, (name) => Object(AWS)[name]);
    const target = { kv: remote, url: "the other" };
    const data = `${folder.path}/${name}`;
    await restore({ ...OPTIONS, data, source, remote: target, ...options });
    return await recordsOf(remote);
  };
  // A restore that is broken off can be repeated; no service begins with what it has left.
  const stop = new AbortController();
  const onProgress = (text: string) => {
    if (text === "storing the records") stop.abort();
  };
  await assertRejects(() => again("broken", { signal: stop.signal, onProgress }), DOMException);
  {
    using remote = await Deno.openKv(way.url);
    assertEquals((await remote.get(keys.format())).value, 0);
    await remote.set(["left", "over"], 1);
  }
  const found = await again("moved");
  assertEquals(found.size, before.size);
  for (const [key, value] of before) assertEquals(found.get(key), value, key);
  await Deno.stat(`${folder.path}/moved/executions`);
  assertEquals(await Deno.stat(`${folder.path}/moved/hooklaunch.kv`).catch(() => "none"), "none");
  await assertRejects(() => again("full"), Error, "Cannot restore to the other: it holds data");
});

Deno.test("a stop does not wait for a cleanup that a backup keeps waiting", async () => {
  await using remote = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  await using folder = await temporaryFolder();
  const backup = { to: folder.path, every_ms: HOUR_MS, keep: KEEP };
  const settings = { kv: remote.way().url, secretKey: "00".repeat(32), backup };
  await using service = await startService({ settings });
  const read = Promise.withResolvers<void>();
  const reading = service.service.parts.backups?.whileNotRead(() => read.promise);
  const cleaning = service.service.cleanUp();
  await deadline(service.service.close(600_000), 60_000);
  read.resolve();
  await Promise.all([reading, cleaning]);
});

Deno.test("what ran on the machine of a backup ends, and is found, where its files are restored", async () => {
  await using stack = new AsyncDisposableStack();
  const env = { [KV_TOKEN.name]: KV_TOKEN.value };
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const { url } = stack.use(new RemoteKv()).way();
  const settings = { secretKey: "00".repeat(32) };
  const service = stack.use(await startService({ settings: { ...settings, kv: url }, env }));
  const launch = async (step: string) => {
    const trigger = await service.trigger({
      actions: [{ type: "run_execution", step }],
      response: { type: "text", text: "{run_id}" },
    });
    const answer = await fetch(trigger.url, { method: "POST", body: "a payload" });
    const run = await endOfRun(service, await answer.text());
    return String(run.actions[0].created.execution_id);
  };
  const ended = await launch("echo");
  await endOfExecution(service, ended);
  const running = await launch("slow");
  await eventually(async () => {
    const { body } = await service.api("GET", `executions/${running}/`);
    return body.status === "started" || undefined;
  });
  const target = `${service.folder}/backup.tar.gz`;
  {
    using kv = await Deno.openKv(url);
    await backUp({ ...OPTIONS, data: `${service.folder}/data`, kv, target });
  }
  assertEquals((await service.api("POST", `executions/${running}/stop/`)).status, 202);
  await endOfExecution(service, running);

  const way = stack.use(new RemoteKv()).way();
  const data = `${service.folder}/restored`;
  {
    using kv = await Deno.openKv(way.url);
    const { source } = await findBackup(target, () => undefined);
    const report = await restore({ ...OPTIONS, data, source, remote: { kv, url: way.url } });
    assertEquals(report.interrupted, [running]);
  }
  const restored = await startOn(data, { settings: { ...settings, kv: way.url }, env });
  stack.defer(() => restored.close(0));
  const { store, engines } = restored.parts;
  const execution = await eventually(async () => {
    const found = await getExecution(store, running);
    return found?.reachable === false || hasEnded(found?.status ?? "error") ? found : undefined;
  }, { what: "what becomes of the execution" });
  assertEquals(execution.status, "error", JSON.stringify(execution));
  // Other instances ask this machine for its log.
  assertEquals((await engines.filesOf(ended)).machine, store.shared?.machineId);
});

Deno.test("where no files are kept, a backup is read back, and what is wrong with it is found", async () => {
  await using folder = await temporaryFolder();
  const openKv = () => Deno.openKv(`${folder.path}/kv`);
  using kv = await openKv();
  const name = "hooklaunch-20260114T103000Z.tar.gz";
  const path = `${folder.path}/${name}`;
  await kv.set(keys.format(), 7);
  await kv.set(keys.backupSentinel(), name);
  // More than one chunk.
  for (let n = 0; n < 40; n++) await kv.set(["audit", String(n)], "x".repeat(60_000));
  const { signal } = new AbortController();
  const job = { data: "none", place: { folder: folder.path }, name };
  const run = (part: Pick<BackupJob, "kind" | "expected">) =>
    runHostedBackupJob({ ...job, ...part }, signal, openKv);
  const made = await run({ kind: "make" });
  if (!("made" in made)) throw new Error(JSON.stringify(made));
  const { sha256, bytes, records } = made.made;
  assertEquals(records, 42);
  const expected = { sha256, bytes };
  assertEquals(await run({ kind: "prove", expected }), { proven: { files: 0, isReadBack: true } });

  const whole = await Deno.readFile(path);
  const tar = gunzipSync(whole);
  const changed = (text: string, other: string) => {
    const copy = new Uint8Array(tar);
    const at = new TextDecoder("latin1").decode(tar).indexOf(text);
    copy.set(new TextEncoder().encode(other), at);
    return gzipSync(copy);
  };
  const cases: [what: string, bytes: Uint8Array, failure: RegExp][] = [
    ["cut off", whole.subarray(0, whole.length / 2), /damaged/],
    ["its last part is missing", gzipSync(tar.subarray(0, tar.length - 20_480)), /damaged/],
    ["a record", changed("x".repeat(1_000), "y"), /do not match its manifest/],
    ["their number", changed('{"records":42}', '{"records":43}'), /damaged/],
    ["other bytes", gzipSync(tar, { level: 1 }), /does not have the bytes that were stored/],
    ["none", new TextEncoder().encode("no archive"), /damaged/],
  ];
  for (const [what, bytes, failure] of cases) {
    await Deno.writeFile(path, new Uint8Array(bytes));
    const result = await run({ kind: "prove", expected });
    if (!("failure" in result)) throw new Error(`${what}: ${JSON.stringify(result)}`);
    assertMatch(result.failure, failure, what);
    assertEquals(result.isDamaged, true, what);
  }
  await Deno.writeFile(path, whole);
  const later = "hooklaunch-20260115T103000Z.tar.gz";
  await Deno.copyFile(path, `${folder.path}/${later}`);
  const proven = await runHostedBackupJob({ ...job, kind: "prove", name: later }, signal);
  assertMatch(JSON.stringify(proven), /of another moment/);
});

Deno.test("records that are damaged are named, and a backup has all others", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/kv`;
  using kv = await Deno.openKv(file);
  const [first, second, trigger] = [newId(1), newId(2), newId(3)];
  const run = { trigger_id: trigger, delivery_id: "sent", actions: [] };
  const sent = hash("sha256", "sent");
  // Each damaged one has whole neighbours. What is under way is left out with its record.
  const records: [key: Deno.KvKey, value: unknown][] = [
    [keys.format(), FORMAT_VERSION],
    [keys.textBraces("a"), TO_DAMAGE],
    [keys.textBraces("b"), true],
    [keys.audit(first), TO_DAMAGE],
    [keys.audit(second), true],
    [keys.run(first), { ...run, id: first }],
    [keys.run(second), TO_DAMAGE],
    [keys.sentId(sent, first), TO_DAMAGE],
    [keys.sentId(sent, second), true],
    [keys.payload(first, 0), new Uint8Array(3)],
    [keys.payload(first, 1), TO_DAMAGE],
    [keys.payload(first, 2), new Uint8Array(3)],
    [keys.turn(first), { trigger_id: trigger }],
    [keys.statusDue(first), TO_DAMAGE],
    [keys.pending(second, trigger), TO_DAMAGE],
    [keys.execution(first), TO_DAMAGE],
    [keys.execution(second), { id: second, run_id: first, trigger_id: trigger }],
    [keys.jobOutput(second, "a"), TO_DAMAGE],
    [keys.jobOutput(second, "b"), true],
    [keys.jobLog(second, 0), TO_DAMAGE],
    [keys.jobLog(second, 700), true],
    [keys.trigger(trigger), TO_DAMAGE],
    // Names are of any script, and are sorted by their bytes, not as JavaScript sorts them.
    ...["a", "a b", "a c", "a-b", "é", "é 1", "é 2", "Ａ", "𐐀", "𐐀 1", "𐐀 2", "𐐀3"].map((
      name,
    ): [Deno.KvKey, unknown] => [
      keys.triggerName(name),
      / [bB1]$|Ａ/.test(name) ? TO_DAMAGE : trigger,
    ]),
    [keys.acmeAccount("https://a.example/directory"), TO_DAMAGE],
    [keys.acmeAccount("https://b.example/directory"), "sealed"],
    [keys.rate(trigger, 60), TO_DAMAGE],
    [keys.rate(trigger, 3_600), true],
    [keys.deliveryCount("2026-01-01", trigger, first), TO_DAMAGE],
    [keys.deliveryCount("2026-01-01", trigger, second), true],
  ];
  for (const each of records) await kv.set(...each);
  const damaged = records.filter(([, value]) => value === TO_DAMAGE).map(([key]) => key.join("/"));
  await kv.set(keys.executionOpen(first), "started");
  assertEquals(damageMarked(file), damaged.length);

  const target = `${folder.path}/backup.tar.gz`;
  const { flaws } = await backUp({ ...OPTIONS, data: `${folder.path}/none`, kv, target });
  assertEquals(flaws.map(({ path }) => path).sort(), damaged.toSorted());
  const data = `${folder.path}/restored`;
  const { source } = await findBackup(target, () => undefined);
  assertEquals((await restore({ ...OPTIONS, data, source })).flaws.length, damaged.length);
  using restored = await Deno.openKv(`${data}/hooklaunch.kv`);
  const whole = records.filter(([, value]) => value !== TO_DAMAGE);
  assertEquals(
    await recordsOf(restored),
    new Map(whole.map(([key, value]) => [key.join(" "), value])),
  );
});

Deno.test("a service that is closed opens for a backup that is due", async () => {
  using kv = await Deno.openKv(":memory:");
  const now_ms = Date.UTC(2026, 0, 14, 10);
  const settings = { to: "s3://bucket/backups", every_ms: HOUR_MS, keep: KEEP };
  const isDue = async (state: Record<string, unknown> | undefined, after_ms: number) => {
    const base = { place: settings.to, since: "", proven: [], damaged: [] };
    if (state) await kv.set(keys.backupState(), { ...base, ...state });
    return await isBackupDue(kv, settings, now_ms + after_ms);
  };
  const made_at = new Date(now_ms).toISOString();
  const proven = { last: { name: "a", made_at }, proof: { name: "a", proven_at: made_at } };
  const cases: [expected: boolean, state: Record<string, unknown> | undefined, ms: number][] = [
    [true, undefined, 0],
    [false, proven, 0],
    [true, proven, HOUR_MS],
    [true, { ...proven, place: "s3://other" }, 0],
    [true, { ...proven, last: { name: "b", made_at } }, 0],
  ];
  for (const [expected, state, ms] of cases) assertEquals(await isDue(state, ms), expected);
});
