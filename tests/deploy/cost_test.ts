/** The reads and writes of a launch and of an idle minute are those that the page tells. */
import { assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { startReceiver } from "../http/receiver.ts";
import type { Counts } from "../store/kv_connect.ts";
import { eventually } from "../surroundings.ts";
import { launchUntilAccepted, makeTrigger, relay } from "./launching.ts";
import { type HostedProcess, Timeline } from "./platform.ts";

/** An idle minute reads no more keys and ranges than this. */
const IDLE_READS_MAX = 7;
/** The keys by which instances see each other live: as often as time goes, whatever is launched. */
const OF_TIME = ["instance", "meta"];
const LAUNCHES = 20;
const PAGE = new URL("../../src/docs/deploy.md", import.meta.url);

/** The numbers in a row of the page's table. */
async function told(row: string): Promise<number[]> {
  const page = await Deno.readTextFile(PAGE);
  const line = page.split("\n").find((each) => each.startsWith(`| ${row} `)) ?? "";
  return line.split("|").slice(2, -1).map((cell) => Number(cell.trim().replaceAll(",", "")));
}

function sum(counts: Map<string, number>, without: readonly string[] = []): number {
  return [...counts].reduce((all, [key, count]) => without.includes(key) ? all : all + count, 0);
}

function forget({ reads, writes }: Counts): void {
  reads.clear();
  writes.clear();
}

/** Returns how often the process has closed. */
function closings(process: HostedProcess): number {
  return process.printed().split("Idle: closed").length - 1;
}

/** Waits until the process has closed so often. */
async function closed(process: HostedProcess, times: number): Promise<void> {
  await eventually(() => closings(process) >= times, { what: "the closing of an idle service" });
}

Deno.test("an idle minute reads a handful of keys, and writes nothing", async () => {
  await using timeline = new Timeline({}, { isCounted: true });
  const process = await timeline.start();
  assertEquals(await process.tick("sweep"), true);
  const [reads, writes] = [sum(timeline.counts.reads), sum(timeline.counts.writes)];
  assertLessOrEqual(reads, IDLE_READS_MAX);
  assertEquals([reads, writes], await told("an idle minute"));
});

Deno.test("a launch costs as many reads and writes as the page tells, and an idle service closes", async () => {
  await using timeline = new Timeline({ HOOKLAUNCH_IDLE_SECONDS: "1" }, { isCounted: true });
  await using receiver = startReceiver();
  const process = await timeline.start();
  const { counts } = timeline;
  const path = await makeTrigger(process, relay(receiver.port));
  await launchUntilAccepted(process, path, "first");
  await receiver.arrived("/hook", 1);
  await closed(process, 1);
  forget(counts);
  // A health check opens nothing.
  assertEquals(await (await process.fetch("/healthz")).text(), "ok\n");
  assertEquals([sum(counts.reads), sum(counts.writes)], [0, 0]);
  const found: Record<string, number[]> = {};
  const note = (row: string, times = 1) => {
    const reads = sum(counts.reads, [...OF_TIME, "lane"]);
    found[row] = [reads, sum(counts.writes, OF_TIME)].map((each) => each / times);
    forget(counts);
  };
  await launchUntilAccepted(process, path, "second");
  await closed(process, 2);
  note("opening for a launch, and closing");
  assertEquals(await process.tick("cleanup"), true);
  await closed(process, 3);
  note("an hour's cleanup");
  let [before, cpu_ms, launched] = [NaN, NaN, 2];
  // A machine that takes a second from one launch to the next lets it close in between.
  while (closings(process) !== before) {
    await launchUntilAccepted(process, path, "one that opens it");
    await receiver.arrived("/hook", ++launched);
    forget(counts);
    before = closings(process);
    const before_ms = await process.cpu_ms();
    for (let index = 0; index < LAUNCHES; index++) {
      await launchUntilAccepted(process, path, `one of many: ${index}`);
    }
    await receiver.arrived("/hook", launched += LAUNCHES);
    cpu_ms = (await process.cpu_ms() - before_ms) / LAUNCHES;
  }
  await closed(process, before + 1);
  note("a launch and its run, while it is open", LAUNCHES);
  for (const [row, all] of Object.entries(found)) {
    const page = await told(row);
    assertEquals(page.length, 2, row);
    for (const [index, most] of page.entries()) {
      const text = `${row}: ${all.join(", ")} counted, ${page.join(", ")} told; ${cpu_ms} ms`;
      assertLessOrEqual(all[index] ?? NaN, most, text);
      assertGreaterOrEqual(all[index] ?? NaN, most / 2, text);
    }
  }
});
