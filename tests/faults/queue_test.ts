/** SIGKILL at each stage between a message and the end of the run that it woke for. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { has } from "../needs.ts";
import { eventually } from "../surroundings.ts";
import { Findings, pause } from "./findings.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, shell, unmount } from "./served.ts";
import { checkStored } from "./stored.ts";
import { KILLED_AT, STAGES } from "./woken_service.ts";
import { workshop } from "./workshop.ts";
import { atOnce } from "../at_once.ts";

const test = atOnce("kills between a message and the end of its run", 2);

const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
const SENDERS = 4;
/** Deno KV gives a message back that was under way for longer when a process died. */
const UNDER_WAY_MS = 5_000;
const LIVES_MS = 3_000;

/** The service that messages alone wake, killed at a stage. */
function woken(stage: string) {
  const url = new URL("./woken_service.ts", import.meta.url).href;
  return { preload: { url, env: { [KILLED_AT]: stage } } };
}

/** Launches until the service is gone, and answers the runs that were promised. */
async function launchUntilKilled(served: Served): Promise<string[]> {
  const kept: string[] = [];
  await Promise.all(Array.from({ length: SENDERS }, async () => {
    using sender = new Sender(() => served.port);
    while (!served.hasEnded) {
      const outcome = await sender.post(LAUNCH, new Uint8Array(100));
      if (typeof outcome !== "string" && outcome.status === 200) {
        kept.push(outcome.body);
      }
      await pause(20);
    }
  }));
  assertEquals((await served.end()).signal, "SIGKILL", served.printed());
  return kept;
}

/** Waits until a run has ended well and its execution is complete. */
async function untilComplete(served: Served, runId: string): Promise<void> {
  const { status, result } = await served.api(
    `${served.url}${LAUNCH}run/?run_id=${runId}&wait=20`,
  );
  assertEquals(status, "completed");
  const path = `executions/${result[0].execution_id}/`;
  const execution = await eventually(async () => {
    const found = await served.api(path);
    return found.ended_at === undefined ? undefined : found;
  });
  assertEquals(execution.status, "complete", execution.reason);
}

for (const [stage, what] of Object.entries(STAGES)) {
  test(`killed when ${what}, the service loses no run and performs none twice`, async () => {
    await using shop = await workshop([{ id: ID, name: "t" }]);
    let kept: string[];
    {
      await using served = await serve(shop.folder, woken(stage));
      kept = await launchUntilKilled(served);
    }
    {
      await using served = await serve(shop.folder, woken("never"));
      // One more is woken by its own message.
      const answer = await fetch(`${served.url}${LAUNCH}`, {
        method: "POST",
        body: "one",
      });
      kept.push(await answer.text());
      for (const runId of kept) await untilComplete(served, runId);
      served.signal("SIGTERM");
      await served.end();
    }
    const findings = new Findings();
    const runs = await checkStored(`${shop.folder}/data`, findings);
    findings.assertNone();
    for (const runId of kept) assert(runs.has(runId));
    const marks = await shop.marks();
    assertEquals(
      [...runs.values()].map(({ status }) => status),
      Array(runs.size).fill("completed"),
    );
    assertEquals(
      [...marks.values()],
      Array(runs.size).fill(1),
      "each command ran once",
    );
  });
}

/** How the disk was filled when the service starts again. */
interface FullDisk {
  fill: string;
  startsAfter: boolean;
}
const disks: FullDisk[] = [
  { fill: "cat /dev/zero > filler 2>/dev/null || true", startsAfter: true },
  // Nearly full.
  { fill: "fallocate -l 490m filler", startsAfter: false },
];

/** Kills the service, fills its disk, and starts it again. */
async function goesOnWithRoom({ fill, startsAfter }: FullDisk): Promise<void> {
  await using shop = await workshop([{ id: ID, name: "t" }]);
  const disk = `${shop.folder}/disk`;
  await Deno.mkdir(disk);
  await shell(`mount -t tmpfs -o size=512m tmpfs '${disk}'`);
  try {
    const data = `${disk}/data`;
    {
      await using served = await serve(shop.folder, { data, ...woken("delivered") });
      await launchUntilKilled(served);
    }
    await shell(`cd '${disk}' && ${fill}`);
    await pause(UNDER_WAY_MS);
    const makeRoom = () => shell(`rm '${disk}/filler'`);
    if (startsAfter) {
      // Not a panic of Deno.
      await assertRejects(
        () => serve(shop.folder, { data }),
        Error,
        "Its disk is full: make room, then start again",
      );
      await makeRoom();
    }
    await using served = await serve(shop.folder, { data });
    if (!startsAfter) {
      await pause(LIVES_MS);
      assert(!served.hasEnded, served.printed());
      assertEquals(await statusOf(served, "/readyz"), 503);
      await makeRoom();
    }
    await eventually(async () => await statusOf(served, "/readyz") === 200 || undefined);
    const answer = await fetch(`${served.url}${LAUNCH}`, { method: "POST", body: "one" });
    await untilComplete(served, await answer.text());
    const { results } = await served.api(`triggers/${ID}/runs/?limit=200`);
    for (const { id } of results) await untilComplete(served, id);
    served.signal("SIGTERM");
    assertEquals((await served.end()).code, 0);
    assertEquals([...(await shop.marks()).values()], Array(results.length).fill(1));
  } finally {
    await unmount(disk);
  }
}

test({
  name:
    "killed with a message under way, on a full or nearly full disk, the service has all when there is room",
  ignore: !has("mount"),
  // Both mostly wait for Deno KV.
  fn: async () => void await Promise.all(disks.map(goesOnWithRoom)),
});

async function statusOf(served: Served, path: string): Promise<number> {
  const answer = await fetch(served.url + path);
  await answer.body?.cancel();
  return answer.status;
}
