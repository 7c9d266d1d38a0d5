/** The room for runs that wait, where instances share the database: what one accepts beyond what the leader counts. */
import { assertEquals } from "@std/assert";
import { KeyMap } from "../../src/runs/pace/key_map.ts";
import { Room } from "../../src/runs/pace/room.ts";
import { WaitingRuns } from "../../src/runs/pace/waiting_runs.ts";
import type { LeaderPace, Pace } from "../../src/store/records/pace.ts";
import { newPending } from "../../src/store/records/runs.ts";

const TRIGGER = "01900000-0000-7000-8000-000000000001";
const OTHER = "01900000-0000-7000-8000-000000000002";
const QUEUE: Pace = { concurrency: { key: "k", limit: 1, when_full: "queue" } };
const LIMITS = { runs_of_trigger: 4, runs_of_key: 2, keys_of_trigger: 2, runs_of_instance: 3 };

function setUp(leader?: { pace?: LeaderPace }) {
  const instances = { isLeader: leader === undefined, leader };
  const refused: string[] = [];
  const items = new WaitingRuns();
  const lanes = new KeyMap<{ length: number }>();
  const parts = { limits: LIMITS, items, bursts: new KeyMap<unknown>(), lanes, instances };
  const room = new Room({ ...parts, onFull: (limit) => refused.push(limit) });
  let runs = 0;
  const wait = (trigger_id: string) => {
    const payload = { size: 0, sha256: "" };
    const times = { created_at: new Date(0).toISOString(), remote_ip: "192.0.2.7" };
    const run = { id: `run-${runs++}`, trigger_id, project: "p", status: "pending" as const };
    return items.add(
      newPending(
        { run: { ...run, ...times, payload, actions: [] }, actions: [], worker: "", pace: QUEUE },
        new Uint8Array(),
      ),
      runs,
    );
  };
  /** Tells how many of so many launches are let in, each stored by the next commit. */
  const launch = (count: number, commit: string, pace: Pace = QUEUE): number => {
    let letIn = 0;
    for (let index = 0; index < count; index++) {
      if (room.obstacle(TRIGGER, pace)) continue;
      room.untaken.expect(TRIGGER);
      room.untaken.stored(TRIGGER, commit);
      letIn++;
    }
    return letIn;
  };
  return { room, items, lanes, refused, wait, launch };
}

Deno.test("a room that another instance counts: so many beyond what it has counted", () => {
  const leader: { pace?: LeaderPace } = {};
  const { room, launch, refused } = setUp(leader);
  assertEquals(launch(10, "05"), 3);
  assertEquals(refused, Array(7).fill("runs_of_instance"));
  assertEquals(room.obstacle(OTHER, QUEUE), undefined);
  const counted = (counted_up_to: string) => leader.pace = { counted_up_to, full: [] };
  // The commit that has stored them is not among those before it.
  counted("05");
  assertEquals(launch(1, "06"), 0);
  counted("06");
  assertEquals(launch(10, "07"), 3);
  // A new leader has counted nothing yet, and an older word does not count.
  delete leader.pace;
  assertEquals(launch(1, "08"), 0);
  counted("03");
  assertEquals(launch(1, "08"), 0);
  counted("09");
  assertEquals(launch(2, "09"), 2);
  counted("10");
  assertEquals(launch(10, "11"), 3);
});

Deno.test("a room that another instance counts: those that are being stored, and that were not", () => {
  const { room, launch } = setUp({});
  for (let count = 0; count < 3; count++) room.untaken.expect(TRIGGER);
  assertEquals(launch(1, "05"), 0);
  room.untaken.withdraw(TRIGGER);
  assertEquals(launch(2, "05"), 1);
});

Deno.test("a room that another instance counts: what is full there", () => {
  const { room: leading, items, lanes, wait } = setUp();
  assertEquals(leading.told, undefined);
  leading.countedUpTo("05");
  assertEquals(leading.told, { counted_up_to: "05", full: [] });
  const leader: { pace?: LeaderPace } = {};
  const { room } = setUp(leader);
  const isFull = (trigger: string, key: string, when_full: "queue" | "newest" = "queue") => {
    const { told } = leading;
    if (told) leader.pace = told;
    const error = room.obstacle(trigger, { concurrency: { key, limit: 1, when_full } });
    return error && [error.message.replace(/^.*: /, ""), error.retryAfter_s];
  };
  const lane = { length: 2 };
  lanes.set(`${TRIGGER} a`, lane);
  leading.queued(`${TRIGGER} a`);
  assertEquals(isFull(TRIGGER, "a"), ["2 runs of its concurrency key wait for a place", 60]);
  assertEquals([isFull(TRIGGER, "b"), isFull(OTHER, "a")], [undefined, undefined]);
  assertEquals(isFull(TRIGGER, "a", "newest"), undefined);
  lane.length = 1;
  assertEquals(isFull(TRIGGER, "a"), undefined);

  lanes.set(`${TRIGGER} b`, lane);
  assertEquals(
    isFull(TRIGGER, "a")?.[0],
    "its trigger has runs of 2 keys, and this may be another one",
  );
  lanes.delete(`${TRIGGER} b`);
  assertEquals(isFull(TRIGGER, "a"), undefined);

  const [first] = Array.from({ length: 4 }, () => wait(OTHER));
  assertEquals(isFull(OTHER, "z"), ["4 runs of its trigger wait for their turn", 60]);
  assertEquals(isFull(TRIGGER, "z"), undefined);
  if (first) items.delete(first);
  assertEquals(isFull(OTHER, "z"), undefined);
  assertEquals(items.countOf(OTHER), 3);
});
