/**
 * Acceptance: what is in the database at the moment at which a sender is told, and that nothing is
 * there when a launch was refused or failed.
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { UnavailableError } from "../../src/platform/errors.ts";
import { idTime } from "../../src/platform/ids.ts";
import { type Acceptance, Acceptor } from "../../src/runs/accept.ts";
import { Quotas } from "../../src/runs/quotas.ts";
import { CHUNK_BYTES, readPayload } from "../../src/store/records/payloads.ts";
import { listTriggerRuns } from "../../src/store/records/run_lists.ts";
import { getPending, getRun, type Run } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { contents, openTestStore, storedUnder, storeInMemory } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { launchOf, openDesk, type Performs, startDesk, TRIGGER_ID } from "./fixture.ts";

const LARGE = new Uint8Array(3 * CHUNK_BYTES + 7).fill(42);

function runOf(acceptance: Acceptance): Run {
  assert("run" in acceptance, "the launch was refused");
  return acceptance.run;
}

async function payloadOf(store: Store, { id, payload }: Run): Promise<Uint8Array> {
  return new Uint8Array(
    await new Response(ReadableStream.from(readPayload(store, id, payload.size))).arrayBuffer(),
  );
}

/** The longest payload that lies in its run's record, and the next one. */
const [LAST, NEXT] = [new Uint8Array(4_096).fill(7), new Uint8Array(4_097).fill(7)];
/** A payload in a buffer that holds more. */
const PART = new Uint8Array(70_000).fill(7).subarray(10, 20);

for (const body of [new Uint8Array(), new TextEncoder().encode("hello"), PART, LAST, NEXT, LARGE]) {
  Deno.test(`an accepted launch of ${body.length} bytes is stored whole when the sender is told`, async () => {
    await using open = await openTestStore();
    const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const actions = [{ type: "run_execution", step: "train" }, { type: "fetch_repository" }];
    await using desk = openDesk(open.store, { clock });
    const { acceptor, worker } = desk;
    const run = runOf(
      await acceptor.accept(launchOf({ body, actions, contentType: "text/plain" })),
    );
    // Nothing is said to the worker: what is stored alone must be enough.
    const store = await open.reopen();
    const expected: Run = {
      id: run.id,
      trigger_id: TRIGGER_ID,
      project: "files",
      status: "pending",
      created_at: "2026-01-02T03:04:05.000Z",
      remote_ip: "192.0.2.7",
      payload: {
        size: body.length,
        sha256: createHash("sha256").update(body).digest("hex"),
        content_type: "text/plain",
      },
      actions: [],
    };
    assertEquals(run, expected);
    assertEquals(await getRun(store, run.id), expected);
    const stored = await getPending(store, run.id);
    const inRecord = body.length > 0 && body.length <= 4_096 ? { body: body.slice() } : {};
    assertEquals(stored, { run: expected, actions, worker: worker.id, ...inRecord });
    assertEquals(stored?.body?.buffer.byteLength, inRecord.body?.length);
    const pending = worker.pendingOf(TRIGGER_ID);
    const page = await listTriggerRuns(store, TRIGGER_ID, { pending, limit: 10 });
    assertEquals(page.records, [expected]);
    assertEquals(await payloadOf(store, run), body);
    assertEquals(idTime(run.id), clock.time_ms);
    assertEquals(await storedUnder(store, "upload"), []);
  });
}

Deno.test("the payload of a run is as it came when the run has ended, wherever it is stored", async () => {
  await using store = await storeInMemory();
  await using desk = await startDesk(store, { perform: () => Promise.resolve([]) });
  // With the largest actions that a trigger can have there is no room for it in the record.
  const large = [{ type: "run_execution", step: "x".repeat(61_300) }];
  for (const body of [PART, LAST, NEXT, LARGE]) {
    for (const actions of [[{ type: "run_execution" }], large]) {
      const run = runOf(await desk.acceptor.accept(launchOf({ body, actions })));
      assertEquals(await payloadOf(store, run), body, "pending");
      assert(await desk.worker.ended(run.id, AbortSignal.timeout(5_000)));
      assertEquals(await getRun(store, run.id), {
        ...run,
        status: "completed",
        ended_at: run.created_at,
      });
      assertEquals(await payloadOf(store, run), body, "ended");
    }
  }
});

Deno.test("a launch without a content type has none, and a replay names what it repeats", async () => {
  await using store = await storeInMemory();
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const first = runOf(await acceptor.accept(launchOf()));
  assertEquals(Object.hasOwn(first.payload, "content_type"), false);
  assertEquals(Object.hasOwn(first, "replay_of"), false);
  const again = runOf(await acceptor.accept(launchOf({ replayOf: first.id })));
  assertEquals((await getRun(store, again.id))?.replay_of, first.id);
});

Deno.test("launches that come together are stored together, each as a run of its own", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const launches = Array.from({ length: 500 }, (_, index) => launchOf({ remoteIp: String(index) }));
  const runs = (await Promise.all(launches.map((launch) => acceptor.accept(launch)))).map(runOf);
  assertLess(commits, 20);
  assertEquals(new Set(runs.map(({ id }) => id)).size, 500);
  assertEquals(await storedUnder(store, "pending"), runs.map(({ id }) => id));
  assertEquals(runs.map(({ remote_ip }) => remote_ip), launches.map(({ remoteIp }) => remoteIp));
});

Deno.test("a large payload that a quota refuses leaves nothing behind", async () => {
  await using store = await storeInMemory();
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const launch = launchOf({ body: LARGE, quotas: [{ period: 60, quota: 1 }] });
  // All three are uploaded before the quota is counted: at first each of them could be the one.
  const answers = await Promise.all([1, 2, 3].map(() => acceptor.accept(launch)));
  const [run, ...others] = answers.flatMap((answer) => "run" in answer ? [answer.run] : []);
  assertEquals(others, []);
  assertEquals(new Set(await storedUnder(store, "payload")), new Set([run?.id]));
  assertEquals(await storedUnder(store, "upload"), []);
  assertEquals(await storedUnder(store, "pending"), [run?.id]);
});

Deno.test("a large payload is not even written when a quota is used up already", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const quotas = [{ period: 60, quota: 1 }];
  await acceptor.accept(launchOf({ quotas }));
  commits = 0;
  assert("exhausted" in await acceptor.accept(launchOf({ body: LARGE, quotas })));
  assertEquals(commits, 0);
});

const failures: { name: string; body: Uint8Array; failing: (commit: number) => boolean }[] = [
  { name: "a small payload", body: new Uint8Array(5), failing: (commit) => commit === 1 },
  { name: "a large payload, while it is written", body: LARGE, failing: (commit) => commit === 1 },
  {
    name: "a very large payload, in the middle",
    body: new Uint8Array(20 * CHUNK_BYTES),
    failing: (commit) => commit === 2,
  },
  { name: "a large payload, at the acceptance", body: LARGE, failing: (commit) => commit === 2 },
];

for (const { name, body, failing } of failures) {
  Deno.test(`a launch that could not be stored leaves nothing behind: ${name}`, async () => {
    let commit = 0;
    await using store = await storeInMemory((_commit, store) =>
      failing(++commit) ? Promise.reject(new TypeError("disk is full")) : store()
    );
    await using desk = openDesk(store);
    const { acceptor, worker } = desk;
    const error = await assertRejects(
      () => acceptor.accept(launchOf({ body, quotas: [{ period: 60, quota: 1 }] })),
      UnavailableError,
    );
    assert(error.retryAfter_s > 0);
    assertEquals(await contents(store), new Map());
    assertEquals(worker.backlog, 0);
    runOf(await acceptor.accept(launchOf({ body, quotas: [{ period: 60, quota: 1 }] })));
  });
}

Deno.test("an acceptance that is stored although the database reports a failure is a run with its payload", async () => {
  let isLost = false;
  await using store = await storeInMemory(async ({ keys }, store) => {
    const result = await store();
    if (isLost || !keys.some(([first]) => first === "pending")) return result;
    isLost = true;
    throw new TypeError("connection lost");
  });
  const performed: string[] = [];
  await using desk = openDesk(store, {
    perform: async ({ run }) => {
      assertEquals(await payloadOf(store, run), LARGE);
      performed.push(run.id);
      return [];
    },
  });
  const { acceptor, worker } = desk;
  await assertRejects(() => acceptor.accept(launchOf({ body: LARGE })), UnavailableError);
  const [id = ""] = await storedUnder(store, "pending");
  worker.claim();
  await eventually(async () => await getPending(store, id) === undefined ? true : undefined);
  assertEquals(performed, [id]);
  assertEquals((await getRun(store, id))?.status, "completed");
});

Deno.test("when so many runs are pending that no more fit, a launch is turned away", async () => {
  await using store = await storeInMemory();
  const ends = Promise.withResolvers<void>();
  await using desk = openDesk(store, {
    backlogMax: 3,
    perform: () => ends.promise.then(() => []),
  });
  const { acceptor, worker } = desk;
  for (let turn = 0; turn < 3; turn++) {
    assertEquals(worker.isFull, false);
    await acceptor.accept(launchOf());
  }
  assertEquals(worker.isFull, true);
  const quotas = [{ period: 60, quota: 1 }];
  await assertRejects(() => acceptor.accept(launchOf({ quotas })), UnavailableError);
  assertEquals((await storedUnder(store, "pending")).length, 3);

  ends.resolve();
  await eventually(() => worker.isFull ? undefined : true);
  runOf(await acceptor.accept(launchOf({ quotas })));
  await eventually(() => worker.backlog === 0 ? true : undefined);
});

Deno.test("a run that is found before its sender is told is performed once", async () => {
  let look = () => Promise.resolve();
  await using store = await storeInMemory(async (_commit, store) => {
    const stored = await store();
    await look();
    return stored;
  });
  const performed: string[] = [];
  const perform: Performs = ({ run }) => {
    performed.push(run.id);
    return new Promise(() => {});
  };
  await using desk = await startDesk(store, { perform });
  look = async () => {
    desk.worker.claim();
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const run = runOf(await desk.acceptor.accept(launchOf()));
  await eventually(() => performed.length > 0 || undefined);
  assertEquals(performed, [run.id]);
});

Deno.test("launches should wait while 512 wait to be stored, and are turned away when 1,024 do", async () => {
  const gate = Promise.withResolvers<void>();
  await using store = await storeInMemory(async (_commit, store) => {
    await gate.promise;
    return await store();
  });
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const launches: Promise<Acceptance>[] = [];
  const untilWaiting = (count: number) => {
    while (store.committer.waiting < count) launches.push(acceptor.accept(launchOf()));
  };
  // What is under way waits no more.
  launches.push(acceptor.accept(launchOf()));
  await eventually(() => store.committer.waiting === 0 || undefined);
  untilWaiting(511);
  assertEquals([acceptor.isBusy, acceptor.fullness], [false, undefined]);
  untilWaiting(512);
  assertEquals([acceptor.isBusy, acceptor.fullness], [true, undefined]);
  untilWaiting(1_024);
  const refused = await assertRejects(
    () => acceptor.accept(launchOf()),
    UnavailableError,
    "too many wait to be stored",
  );
  assertEquals(refused.retryAfter_s, 1);
  gate.resolve();
  const ids = (await Promise.all(launches)).map((acceptance) => runOf(acceptance).id);
  assertEquals(await storedUnder(store, "pending"), ids.toSorted());
  assertEquals([acceptor.isBusy, acceptor.fullness], [false, undefined]);
});

Deno.test("while the disk is nearly full a launch is turned away, and uses up nothing", async () => {
  await using store = await storeInMemory();
  const space = { isShort: true, isShortForFiles: false };
  const clock = new TestClock();
  await using desk = openDesk(store, { clock });
  const { worker } = desk;
  let keepsFiles = true;
  const acceptor = new Acceptor({
    store,
    clock,
    worker,
    space,
    quotas: new Quotas(store, clock),
    keepsFiles: () => Promise.resolve(keepsFiles),
  });
  const launch = launchOf({ quotas: [{ period: 60, quota: 1 }] });
  const error = await assertRejects(() => acceptor.accept(launch), UnavailableError);
  assert(error.retryAfter_s > 0);
  assertEquals(await contents(store), new Map());
  space.isShort = false;
  space.isShortForFiles = true;
  await assertRejects(() => acceptor.accept(launch), UnavailableError);
  // What runs elsewhere needs no room on the disk of executions.
  keepsFiles = false;
  runOf(await acceptor.accept(launch));
});
