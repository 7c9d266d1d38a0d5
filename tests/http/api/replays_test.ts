/** Bulk replays: what is launched again, once each, and what is not. */
import { assert, assertEquals } from "@std/assert";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { newId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";
import { newReplayWrites, replayWrites } from "../../../src/store/records/replays.ts";
import { Service } from "../../../src/service/service.ts";
import { eventually, startService } from "../../data.ts";
import { storedUnder } from "../../store/fixture.ts";

type Running = Awaited<ReturnType<typeof startService>>;

/** Starts a service with a trigger and some of its runs, of which the bodies say whether they succeed. */
async function withRuns(bodies: readonly string[]) {
  const service = await startService();
  await Deno.writeTextFile(
    `${service.folder}/project/valohai.yaml`,
    JSON.stringify([{
      step: {
        name: "read",
        image: "i",
        command: "grep -q good $VH_INPUTS_DIR/a/payload*",
        inputs: [{ name: "a" }],
      },
    }]),
  );
  const { id, url } = await service.trigger({
    name: "replayed",
    actions: [{ type: "run_execution", step: "read", payload_input_name: "a" }],
    response: { type: "text", text: "{run_id}" },
  });
  const runs: string[] = [];
  for (const body of bodies) runs.push(await (await fetch(url, { method: "POST", body })).text());
  await eventually(async () => {
    const { body } = await service.api("GET", "executions/");
    const ended = body.results.filter(({ ended_at }: { ended_at?: string }) => ended_at);
    return ended.length === bodies.length || undefined;
  }, { what: "that all executions have ended" });
  return { service, id, runs };
}

async function ended(service: Running, id: string) {
  return await eventually(async () => {
    const { body } = await service.api("GET", `replays/${id}/`);
    return body.state === "running" ? undefined : body;
  }, { what: "the end of the replay" });
}

/** The runs that launched another one again, as [source, payload size]. */
async function replays(service: Running, trigger: string) {
  const { body } = await service.api("GET", `triggers/${trigger}/runs/?limit=200`);
  return body.results.filter(({ replay_of }: { replay_of?: string }) => replay_of)
    .map(({ replay_of, payload }: { replay_of: string; payload: { size: number } }) =>
      [replay_of, payload.size] as const
    ).reverse();
}

Deno.test("a replay without a launch a second is refused", async () => {
  await using service = await startService();
  const { body } = await service.api("POST", "replays/", { filter: {}, rate: 0 });
  const detail = "Expected a number of more than 0, found 0";
  assertEquals(body.errors, [{ pointer: "/rate", detail }]);
});

Deno.test("a replay counts first, then launches the runs of a filter again, oldest first", async () => {
  const { service, id, runs } = await withRuns(["good", "bad!", "good"]);
  await using _ = service;
  const filter = { trigger: "replayed" };
  const dry = await service.api("POST", "replays/", { filter, dry_run: true });
  assertEquals([dry.status, dry.body], [200, { state: "dry_run", count: 3 }]);
  assertEquals(await replays(service, id), []);

  const made = await service.api("POST", "replays/", { filter, rate: 1_000 });
  assertEquals([made.status, made.body.count, made.body.filter], [201, 3, filter]);
  const { state, done, launched, failed } = await ended(service, made.body.id);
  assertEquals([state, done, launched, failed], ["completed", 3, 3, 0]);
  const again = await service.api("POST", "replays/", { filter, dry_run: true });
  assertEquals(again.body.count, 3, "replays are not launched again");
  assertEquals(await replays(service, id), runs.map((run) => [run, 4] as const));
});

Deno.test("a replay leaves out what has succeeded, and takes another payload", async () => {
  const { service, id, runs } = await withRuns(["good", "bad!", "bad!"]);
  await using _ = service;
  const settings = { filter: { trigger: id }, only_without_success: true };
  const counted = async () =>
    (await service.api("POST", "replays/", { ...settings, dry_run: true })).body.count;
  assertEquals(await counted(), 2);
  const made = await service.api("POST", "replays/", {
    ...settings,
    rate: 1_000,
    body: btoa("good at last"),
  });
  const { launched, skipped } = await ended(service, made.body.id);
  assertEquals([launched, skipped], [2, 1]);
  await eventually(async () => await counted() === 0 || undefined, { what: "their success" });
  assertEquals(await replays(service, id), runs.slice(1).map((run) => [run, 12] as const));
});

Deno.test("a replay at a commit that does not exist makes runs that say so", async () => {
  const { service, id } = await withRuns(["good"]);
  await using _ = service;
  const made = await service.api("POST", "replays/", { filter: { trigger: id }, commit: "none" });
  await ended(service, made.body.id);
  const error = await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${id}/runs/`);
    const [{ actions: [action] }] = body.results;
    return action?.error;
  }, { what: "the end of the new run" });
  assert(/commit|HEAD/i.test(error), error);
});

Deno.test("a replay is stopped, and keeps its rate until then", async () => {
  const { service, id } = await withRuns(["good", "good", "good", "good"]);
  await using _ = service;
  const made = await service.api("POST", "replays/", { filter: { trigger: id }, rate: 0.5 });
  await eventually(async () => (await replays(service, id)).length === 1 || undefined, {
    what: "the first launch",
  });
  const stopped = await service.api("POST", `replays/${made.body.id}/stop/`);
  assertEquals([stopped.body.state, stopped.body.launched], ["stopped", 1]);
  assertEquals((await replays(service, id)).length, 1);
  assertEquals((await service.api("POST", "replays/none/stop/")).status, 404);
});

Deno.test("a replay goes on after a restart, and launches nothing twice", async () => {
  const { service, id, runs } = await withRuns(["good", "good", "good", "good", "good"]);
  await using _ = service;
  const made = await service.api("POST", "replays/", { filter: { trigger: id }, rate: 5 });
  await eventually(async () => (await replays(service, id)).length >= 2 || undefined, {
    what: "the first launches",
  });
  const { settings, clock, store } = service.service.parts;
  // Those that began later have ended.
  const newer = Array.from({ length: 100 }, (_, index) => {
    const id = newId(clock.now() + index);
    return replayWrites({ ...made.body, id, state: "completed", done: 5 });
  });
  await store.committer.writeInParts(newer.flat());
  await service.service.close(0);
  const again = await Service.start(settings, { clock, env: () => undefined });
  try {
    const headers = { authorization: `Bearer ${settings.adminToken}` };
    const get = async (path: string) =>
      await (await fetch(`${again.url}/api/v0/${path}`, { headers })).json();
    await eventually(
      async () => (await get(`replays/${made.body.id}/`)).state === "completed" || undefined,
      { what: "the end of the replay" },
    );
    const { results } = await get(`triggers/${id}/runs/?limit=200`);
    const sources = results.flatMap(({ replay_of }: { replay_of?: string }) => replay_of ?? []);
    assertEquals(sources.sort(), runs.toSorted());
    // A command that still runs would outlive the service.
    await eventually(async () => {
      const { results } = await get("executions/?limit=200");
      const ended = results.filter(({ ended_at }: { ended_at?: string }) => ended_at);
      return ended.length === 2 * runs.length || undefined;
    }, { what: "that all executions have ended" });
  } finally {
    await again.close(10_000);
  }
});

Deno.test("a replay that waits for its next launch is work that goes on", async () => {
  const { service, id } = await withRuns(["good", "good"]);
  await using _ = service;
  const { parts } = service.service;
  const left = () => storedUnder(parts.store, "pending_replay");
  await parts.store.committer.write([{ key: keys.runningReplay("of an old backup"), value: true }]);
  const made = await service.api("POST", "replays/", { filter: { trigger: id }, rate: 0.01 });
  await eventually(async () => {
    return (await replays(service, id)).length === 1 && parts.worker.backlog === 0;
  }, { what: "the pause behind the first launch" });
  assertEquals([parts.isWorking(), (await left()).sort()], [true, [
    made.body.id,
    "of an old backup",
  ]]);
  await service.restart();
  const again = service.service.parts;
  await eventually(async () => (await storedUnder(again.store, "pending_replay")).length === 1);
  assertEquals(again.isWorking(), true);
  await service.api("POST", `replays/${made.body.id}/stop/`);
  assertEquals(await storedUnder(again.store, "pending_replay"), []);
  await eventually(() => !again.isWorking(), { what: "the end of what the replay has launched" });
});

Deno.test("a replay that is stored before a start has listed replays is performed once, and stays marked", async () => {
  const { service, id } = await withRuns(["good", "good"]);
  await using _ = service;
  const { parts } = service.service;
  const { committer } = parts.store;
  const [stored, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const writeInParts = committer.writeInParts.bind(committer);
  committer.writeInParts = async (writes) => {
    await writeInParts(writes);
    if (!writes.some(({ key }) => key[0] === "replay")) return;
    stored.resolve();
    await begun.promise;
  };
  const making = service.api("POST", "replays/", { filter: { trigger: id }, rate: 0.01 });
  await stored.promise;
  await parts.replays.start();
  begun.resolve();
  const { id: made } = (await making).body;
  await eventually(async () => (await replays(service, id)).length === 1 || undefined);
  assertEquals(await storedUnder(parts.store, "pending_replay"), [made]);
  // One that was performed twice would go on, and keep a timer.
  const { body } = await service.api("POST", `replays/${made}/stop/`);
  assertEquals([body.state, body.launched], ["stopped", 1]);
});

Deno.test("a replay is stopped while a leader is about to go on with it", async () => {
  await using service = await startService();
  const { replays, store } = service.service.parts;
  const id = newId(Date.now());
  // None of these is there any more.
  const deliveries = Array.from({ length: 10_000 }, (_, index) => newId(index));
  await store.committer.writeInParts(newReplayWrites({
    ...{ id, state: "running", created_at: "2026-01-01T00:00:00.000Z", filter: {}, rate: 1 },
    ...{ only_without_success: false, count: deliveries.length },
    ...{ done: 0, launched: 0, skipped: 0, failed: 0 },
  }, deliveries));
  const starting = replays.start();
  const stopped = await replays.stop(id);
  await starting;
  assertEquals([stopped?.state, replays.isRunning], ["stopped", false]);
});

Deno.test("a replay goes on when the database does not store how far it is", async () => {
  const { service, id } = await withRuns(["good", "good"]);
  await using _ = service;
  const { committer } = service.service.parts.store;
  const write = committer.write.bind(committer);
  let failures = 0;
  committer.write = (writes) => {
    const isOfReplay = writes.some(({ key, value }) => key[0] === "replay" && isEnded(value));
    if (!isOfReplay || failures++ > 0) return write(writes);
    return Promise.reject(new UnavailableError("Cannot store: the connection broke", 1));
  };
  const made = await service.api("POST", "replays/", { filter: { trigger: id } });
  const { state, launched } = await ended(service, made.body.id);
  assertEquals([state, launched, failures], ["completed", 2, 2]);
});

function isEnded(value: unknown): boolean {
  return Object(value).state !== "running";
}

Deno.test("a replay that cannot be is refused", async () => {
  await using service = await startService();
  const cases: [settings: Record<string, unknown>, pointer: string][] = [
    [{}, "/filter"],
    [{ filter: { outcome: "repeat" } }, "/filter/outcome"],
    [{ filter: { from: "yesterday" } }, "/filter/from"],
    [{ filter: { trigger: "nobody" } }, "/filter/trigger"],
    [{ filter: {}, rate: 0 }, "/rate"],
    [{ filter: {}, body: "not base64!" }, "/body"],
  ];
  for (const [settings, pointer] of cases) {
    const { status, body } = await service.api("POST", "replays/", settings);
    assertEquals([status, body.errors[0].pointer], [422, pointer], JSON.stringify(settings));
  }
});
