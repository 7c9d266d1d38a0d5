/**
 * Damaged records: values that the database cannot decode, and values that are not what they must be.
 * What is whole beside them is found.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../../src/platform/clock.ts";
import { newId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";
import { listOldOfTriggers } from "../../../src/store/read/lists.ts";
import {
  CHUNK_BYTES,
  CorruptPayloadError,
  readPayload,
} from "../../../src/store/records/payloads.ts";
import {
  getProject,
  hasProject,
  listProjects,
  putProject,
} from "../../../src/store/records/projects.ts";
import { readValue, scan } from "../../../src/store/read/scan.ts";
import { endedRunsMadeBefore, listTriggerRuns } from "../../../src/store/records/run_lists.ts";
import {
  acceptWrites,
  damagedRun,
  endWrites,
  getPending,
  getRun,
  pendingEntries,
} from "../../../src/store/records/runs.ts";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import {
  createToken,
  getToken,
  hasTokens,
  listTokens,
  removeToken,
  tokenHash,
  tokenId,
} from "../../../src/store/records/tokens.ts";
import {
  executionsWithSecrets,
  getGivenSecrets,
  givenSecretsWrites,
} from "../../../src/store/records/given_secrets.ts";
import { removeEndedDeliveries } from "../../../src/store/records/delivery_ids.ts";
import {
  countOldEntries,
  loggedTriggers,
  TriggerLog,
} from "../../../src/store/records/trigger_log.ts";
import { removeEntryWrites } from "../../../src/store/records/trigger_log_entries.ts";
import { pendingOf, storePending, TRIGGER_ID } from "../../runs/fixture.ts";
import {
  damageMarked,
  listPending,
  openTestStore,
  standIn,
  storedUnder,
  storeInMemory,
  type TestStore,
  TO_DAMAGE,
} from "../fixture.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

/** Overwrites the bytes of the values under a first part, as a disk that lies would. */
function damage({ folder }: TestStore, first: string, ids: readonly string[]): void {
  const database = new DatabaseSync(join(folder, DATABASE_FILE));
  const hex = (text: string) => new TextEncoder().encode(text).toHex().toUpperCase();
  const update = database.prepare(
    "update kv set v = x'ff0fdeadbeef' where hex(k) like ? || '%' and instr(hex(k), ?) > 0",
  );
  for (const id of ids) {
    const { changes } = update.run(`02${hex(first)}00`, hex(id));
    assert(Number(changes) > 0, `there is no ${first} of ${id}`);
  }
  database.close();
}

const places: { name: string; damaged: number[] }[] = [
  { name: "the first", damaged: [0] },
  { name: "the last", damaged: [249] },
  { name: "two in a row", damaged: [100, 101] },
  { name: "some in every batch", damaged: [3, 99, 100, 199, 200, 248] },
  { name: "all", damaged: Array.from({ length: 250 }, (_, at) => at) },
];

for (const { name, damaged } of places) {
  Deno.test(`a scan finds every entry, with no value for those that cannot be decoded: ${name}`, async () => {
    await using open = await openTestStore();
    const { kv, committer } = open.store;
    const ids = Array.from({ length: name === "all" ? 3 : 250 }, (_, at) => newId(NOW_MS + at));
    await committer.write(ids.map((id, at) => ({ key: ["pending", id], value: at })));
    await committer.write([
      { key: ["payload", ids[0] ?? "", 0], value: 1 },
      { key: ["run", ids[0] ?? ""], value: 1 },
    ]);
    const bad = damaged.flatMap((at) => ids[at] ?? []);
    damage(open, "pending", bad);
    const found = await Array.fromAsync(scan(kv, ["pending"]));
    assertEquals(found.map(({ key }) => key), ids.map((id) => ["pending", id]));
    assertEquals(
      found.map(({ value }) => value),
      ids.map((id, at) => bad.includes(id) ? undefined : at),
    );
    const after = await Array.fromAsync(scan(kv, ["pending"], { after: ids[1], batchSize: 2 }));
    assertEquals(after.map(({ key }) => key[1]), ids.slice(2));
  });
}

Deno.test("a pending run that cannot be decoded is found by its id and its trigger's", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const made = [1, 2, 3].map((at) => pendingOf({ time_ms: NOW_MS + at }));
  const [before = "", bad = "", after = ""] = await storePending(store, made);
  damage(open, "pending", [bad]);
  const entries = await Array.fromAsync(pendingEntries(store));
  assertEquals(
    entries.map(({ id, triggerId, pending }) => [id, triggerId, pending?.run.id]),
    [
      [before, TRIGGER_ID, before],
      [bad, TRIGGER_ID, undefined],
      [after, TRIGGER_ID, after],
    ],
  );
  assertEquals(await getPending(store, bad), undefined);
  const { records } = await listTriggerRuns(store, TRIGGER_ID, { pending: "stored", limit: 2 });
  assertEquals(records.map(({ id }) => id), [after]);
});

Deno.test("a scan finds what cannot be decoded among those of one owner", async () => {
  await using open = await openTestStore();
  const { kv } = open.store;
  const made = ["a", "b", "c"].flatMap((owner) => [1, 2, 3, 4].map((at) => [owner, `e${at}`]));
  for (const ids of made) await kv.set(["kept", ...ids], true);
  damage(open, "kept", ["e2", "e4"]);
  const found = await Array.fromAsync(scan(kv, ["kept"], { ids: 2 }));
  assertEquals(
    found.map(({ key, value }) => [...key.slice(1), value]),
    made.map((ids) => [...ids, /[13]/.test(ids.join()) ? true : undefined]),
  );
});

Deno.test("a scan finds what cannot be decoded among those that differ by a number, and those of fewer parts", async () => {
  await using open = await openTestStore();
  const { kv } = open.store;
  const made: [string, ...Deno.KvKeyPart[]][] = [
    ["e1"],
    ["e2"],
    ["e3", 0],
    ["e4", 7],
    ["e5", 7],
    ["e5", 123_456],
    ["e5", 123_457],
    ["e6", "log", 1],
    ["e6", "log", 2],
    ["e6", "rest", 1],
  ];
  const all = made.map((parts): [Deno.KvKey, unknown] => {
    const isDamaged = /e[23]|123456|log,2/.test(parts.join());
    return [["rate", ...parts], isDamaged ? TO_DAMAGE : true];
  });
  for (const each of all) await kv.set(...each);
  assertEquals(damageMarked(join(open.folder, DATABASE_FILE)), 4);
  const found = await Array.fromAsync(scan(kv, ["rate"], { ids: 3 }));
  assertEquals(
    found.map(({ key, value = TO_DAMAGE }) => [key, value]),
    all,
  );
  const of = await Array.fromAsync(scan(kv, ["rate", "e5"]), ({ key }) => key[2]);
  assertEquals(of, [7, 123_456, 123_457]);
});

Deno.test("deliveries whose window is over are forgotten, and those that cannot be decoded", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const clock = { ...systemClock, steady: () => NOW_MS };
  const known = (until_ms: number) => ({ run_id: newId(NOW_MS), until_ms });
  for (const id of ["d1", "d2", "d3"]) {
    for (const triggerId of ["a", "b"]) {
      const until_ms = id === "d3" ? NOW_MS : NOW_MS + 1;
      await store.kv.set(keys.delivery(triggerId, id), known(until_ms));
    }
  }
  damage(open, "delivery", ["d2"]);
  const { signal } = new AbortController();
  assertEquals(await removeEndedDeliveries({ store, clock, signal }), 4);
  const left = await Array.fromAsync(store.kv.list({ prefix: ["delivery"] }), ({ key }) => key);
  assertEquals(left, [keys.delivery("a", "d1"), keys.delivery("b", "d1")]);
});

Deno.test("the entry of a trigger's log that is damaged goes with its place in the list over all triggers", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const log = new TriggerLog(store, systemClock);
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  const refused = { kind: "refused", condition: "hmac", reason: "no", request } as const;
  const ids = [1, 2, 3].map(() => log.add({ id: TRIGGER_ID, project: "digits" }, refused) ?? "");
  await log.flush();
  damage(open, "trigger_log", ids.slice(0, 2));
  // What tells what is past its retention counts it, too.
  assertEquals(await Array.fromAsync(loggedTriggers(store)), [TRIGGER_ID]);
  const before_ms = systemClock.now() + 60_000;
  for (const limit of [2, 10]) {
    const counted = await countOldEntries(store, TRIGGER_ID, { before_ms, limit });
    assertEquals(counted.map(({ id }) => id), ids.slice(0, limit));
  }
  assertEquals(await countOldEntries(store, TRIGGER_ID, { before_ms: 0, limit: 10 }), []);
  const page = { limit: 10 };
  const all = () => Promise.resolve(Infinity);
  const { old } = await listOldOfTriggers(store, "trigger_log", all, page);
  await store.committer.write(old.flatMap(removeEntryWrites));
  assertEquals(await storedUnder(store, "trigger_log"), []);
  assertEquals(await storedUnder(store, "delivery_entry"), []);
});

Deno.test("the secrets of an execution that are damaged read as none, and hide no others", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const ids = ["e1", "e2", "e3"];
  const sealed = "x".repeat(100_000);
  for (const id of ids) await store.committer.write(givenSecretsWrites(id, sealed));
  damage(open, "given_secrets", ["e2"]);
  assertEquals(await Array.fromAsync(executionsWithSecrets(store)), ids);
  const found = await Promise.all(ids.map((id) => getGivenSecrets(store, id)));
  assertEquals(found, [sealed, undefined, sealed]);
});

for (const part of ["t", 5]) {
  Deno.test(`a scan goes on when what cannot be decoded is removed while it is looked for, behind a ${typeof part}`, async () => {
    await using open = await openTestStore();
    const { kv } = open.store;
    for (let removedAt = 1, isOver = false; !isOver; removedAt++) {
      for (const id of ["n1", "n2", "n3"]) await kv.set(["pending", id, part], id);
      damage(open, "pending", ["n2"]);
      let looks = 0;
      const list = async function* (...[selector, options]: Parameters<Deno.Kv["list"]>) {
        if (++looks === removedAt) await kv.delete(["pending", "n2", part]);
        yield* kv.list(selector, options);
      };
      const watched = standIn(kv, { list });
      const found = await Array.fromAsync(scan(watched, ["pending"], { ids: 2 }));
      isOver = looks < removedAt;
      const others = found.filter(({ key }) => key[1] !== "n2").map(({ value }) => value);
      assertEquals(others, ["n1", "n3"], `removed at ${removedAt}`);
      if (isOver) assertEquals(found.length, 3);
    }
  });
}

Deno.test("a value that cannot be decoded reads as none, and other failures are not hidden", async () => {
  await using open = await openTestStore();
  const id = newId(NOW_MS);
  await open.store.kv.set(["run", id], { a: 1 });
  assertEquals(await readValue(open.store.kv, ["run", id]), { a: 1 });
  damage(open, "run", [id]);
  assertEquals(await readValue(open.store.kv, ["run", id]), null);
  await assertRejects(() => readValue(open.store.kv, ["run", "x".repeat(3_000)]), TypeError);
});

Deno.test("a project, a token or a log entry that is damaged hides no other, and can be replaced or removed", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const engine = { type: "local" };
  const projectOf = (name: string) => ({ name, directory: "/c", config_file: "c.yaml", engine });
  for (const name of ["A.b", "a-b", "a_b", "b", "ba", "z-zoo"]) {
    await putProject(store, projectOf(name));
  }
  const first = { name: "first", created_at: new Date(NOW_MS).toISOString() };
  const tokens = [await createToken(store, first), await createToken(store, first)];
  const [bad = "", good = ""] = tokens;
  const log = new TriggerLog(store, systemClock);
  for (const run_id of ["1", "2", "3"]) {
    const failed = { kind: "action_failed", run_id, action: "run_execution" } as const;
    log.add({ id: TRIGGER_ID, project: "digits" }, {
      ...failed,
      action_index: 0,
      error: "no such step",
    });
  }
  await log.flush();
  const entries = (await log.list(TRIGGER_ID, { limit: 10 })).records;

  damage(open, "token", [tokenHash(bad)]);
  damage(open, "trigger_log", [entries[1]?.id ?? ""]);
  for (const name of ["a-b", "ba", "z-zoo"]) damage(open, "project", [name]);
  await store.kv.set(keys.project("b"), { name: "of another" });
  const again = await open.reopen();

  assertEquals((await listProjects(again)).map(({ name }) => name), ["A.b", "a_b"]);
  assertEquals(await getProject(again, "ba"), undefined);
  assertEquals(await Promise.all(["ba", "none"].map((name) => hasProject(again, name))), [
    true,
    false,
  ]);
  await putProject(again, projectOf("ba"));
  assertEquals((await getProject(again, "ba"))?.name, "ba");

  assertEquals([await hasTokens(again), await getToken(again, tokenHash(bad))], [true, undefined]);
  assertEquals(await getToken(again, tokenHash(good)), first);
  const listed = (await listTokens(again)).map(({ id, name }) => `${id} ${name}`);
  assertEquals(
    listed.sort(),
    [`${tokenId(tokenHash(bad))} (damaged)`, `${tokenId(tokenHash(good))} first`].sort(),
  );
  assertEquals(await removeToken(again, tokenId(tokenHash(bad))), true);
  assertEquals((await listTokens(again)).length, 1);

  const left = new TriggerLog(again, systemClock);
  const page = await left.list(TRIGGER_ID, { limit: 10 });
  assertEquals(page.records.map(({ id }) => id), [entries[0]?.id, entries[2]?.id]);
});

const garbage: { name: string; value: unknown }[] = [
  { name: "a number", value: 7 },
  { name: "null", value: null },
  { name: "bytes", value: new Uint8Array([1, 2, 3]) },
  { name: "an empty object", value: {} },
  { name: "a run without a payload", value: { run: { id: "x" }, actions: [], worker: "w" } },
  { name: "another run", value: pendingOf() },
  { name: "actions that are none", value: { ...pendingOf(), actions: [null] } },
];

for (const { name, value } of garbage) {
  Deno.test(`a record that holds ${name} is no run, and hides none`, async () => {
    await using store = await storeInMemory();
    const [before = "", bad = "", after = ""] = await storePending(
      store,
      [1, 2, 3].map((at) => pendingOf({ time_ms: NOW_MS + at })),
    );
    await store.kv.set(keys.pending(bad, TRIGGER_ID), value);
    const whole = (await Array.fromAsync(listPending(store))).map(({ run }) => run.id);
    assertEquals(whole, [before, after]);
    const entries = await Array.fromAsync(pendingEntries(store));
    assertEquals(entries.map(({ id, pending }) => [id, pending?.run.id]), [
      [before, before],
      [bad, undefined],
      [after, after],
    ]);
    assertEquals(await getPending(store, bad), undefined);
    assertEquals(await getRun(store, bad), undefined);
    for (const pending of [[before, bad, after], "stored"] as const) {
      const page = { pending, limit: 10 };
      const { records: runs } = await listTriggerRuns(store, TRIGGER_ID, page);
      assertEquals(runs.map(({ id }) => id), [after, before]);
    }
  });
}

Deno.test("an ended run whose record is damaged is cleaned up with its whole payload", async () => {
  await using open = await openTestStore();
  const { store } = open;
  const pending = pendingOf({ time_ms: NOW_MS - 1 });
  const { id } = pending.run;
  pending.run.payload = { size: 100, sha256: "" };
  await store.committer.write(acceptWrites(pending, new Uint8Array(100)));
  await store.committer.write(endWrites({ ...pending.run, status: "completed" }));
  const other = pendingOf();
  await store.committer.write(endWrites({ ...other.run, status: "completed" }));
  damage(open, "run", [id]);
  assertEquals(await getRun(store, id), undefined);
  const found = await endedRunsMadeBefore(store, Date.now() + 1e9, { limit: 10 });
  assertEquals(found.map((run) => run.id), [id, other.run.id]);
  assertEquals(found[0]?.payload.size, CHUNK_BYTES);
});

Deno.test("of a damaged run its time and its failure are told, and its trigger", async () => {
  await using store = await storeInMemory();
  const id = newId(NOW_MS);
  const run = await damagedRun(store, id, TRIGGER_ID);
  assertEquals([run.trigger_id, run.status], [TRIGGER_ID, "error"]);
  assertEquals(run.created_at, new Date(NOW_MS).toISOString());
  assertEquals((await damagedRun(store, "no id", "")).created_at, "1970-01-01T00:00:00.000Z");
});

Deno.test("a payload that is not the bytes that came is not given out as if it were", async (t) => {
  const body = new Uint8Array(50).map((_, at) => at);
  const sha256 = createHash("sha256").update(body).digest("hex");
  const cases: { name: string; value: unknown; isGood?: boolean }[] = [
    { name: "the bytes", value: body, isGood: true },
    { name: "another byte", value: body.with(7, 9) },
    { name: "text of that length", value: "x".repeat(50) },
    { name: "a list of that length", value: Array.from(body) },
  ];
  for (const { name, value, isGood } of cases) {
    await t.step(name, async () => {
      await using store = await storeInMemory();
      await store.kv.set(keys.payload("r", 0), value);
      const read = Array.fromAsync(readPayload(store, "r", 50, sha256));
      if (isGood) assertEquals(await read, [body]);
      else await assertRejects(() => read, CorruptPayloadError);
    });
  }
});

Deno.test("a run is not taken for one that has ended while the database cannot be read", async () => {
  await using store = await storeInMemory();
  const [id = ""] = await storePending(store, [pendingOf()]);
  const list = () => {
    throw new TypeError("disk I/O error");
  };
  const kv = standIn(store.kv, { list });
  await assertRejects(() => getPending({ ...store, kv }, id), TypeError);
  assertEquals((await getPending(store, id))?.run.id, id);
});
