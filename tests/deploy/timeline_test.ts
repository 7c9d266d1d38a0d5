/** Timelines, crons and stops of the platform, as it plays them. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Findings, Random } from "../faults/findings.ts";
import { firstAttempt, nextAttempt } from "../../src/store/records/attempts.ts";
import { type Execution, executionWrites } from "../../src/store/records/executions.ts";
import { keys } from "../../src/store/keys.ts";
import { executionOf } from "../store/execution.ts";
import { startReceiver } from "../http/receiver.ts";
import { eventually } from "../surroundings.ts";
import { hostedFaults } from "./hosted_faults.ts";
import { launchUntilAccepted, makeTrigger, relay } from "./launching.ts";
import { STOP_MS, Timeline } from "./platform.ts";

Deno.test("a branch accepts launches and performs nothing; production performs what waits when a cron comes", async () => {
  await using timeline = new Timeline();
  await using receiver = startReceiver();
  const branch = await timeline.start({ env: { DENO_TIMELINE: "git-branch/try" } });
  const path = await makeTrigger(branch, relay(receiver.port));
  const run = await launchUntilAccepted(branch, path, "waits");
  // Twice at once, as a platform may that runs several processes.
  assertEquals(await Promise.all([branch.tick("sweep"), branch.tick("sweep")]), [true, true]);
  const { body } = await branch.api("GET", `runs/${run}/`);
  assertEquals([body.status, receiver.at("/hook").length], ["pending", 0]);
  assertStringIncludes(branch.printed(), "This is the timeline git-branch/try");
  assertEquals((await branch.stop(STOP_MS)).code, 0);
  // No request comes: the cron alone starts the process, and performs the run.
  const production = await timeline.start({ env: { DENO_TIMELINE: "production" } });
  await production.rejectNewCrons("all are known");
  const ticks = await Promise.all([production.tick("sweep"), production.tick("sweep")]);
  assertEquals(ticks, [true, true]);
  const [received] = await receiver.arrived("/hook", 1);
  assertEquals(JSON.parse(received?.body ?? "").run, run);
  await eventually(async () => {
    const { body } = await production.api("GET", `runs/${run}/`);
    return body?.status === "completed" ? true : undefined;
  });
  assertEquals(await production.tick("cleanup"), true);
});

Deno.test("an attempt whose time comes while no process lives begins with the next cron", async () => {
  await using timeline = new Timeline();
  using kv = await timeline.openKv();
  const retry = { attempts: 2, first: 1, factor: 1, exit_codes: "*" as const };
  const first = firstAttempt(executionOf({
    engine: { type: "slurm", url: "http://127.0.0.1:1" },
    retry,
  }));
  const failed: Execution = { ...first, status: "error", ended_at: first.created_at };
  const commit = kv.atomic();
  for (const { key, value } of executionWrites(failed)) {
    if (value === undefined) commit.delete(key);
    else commit.set(key, value);
  }
  await commit.commit();
  const next = nextAttempt(failed)?.id ?? "";
  const status = async () => (await kv.get<Execution>(keys.execution(next))).value?.status;
  const process = await timeline.start();
  assertEquals(await status(), "created");
  assertEquals(await process.tick("sweep"), true);
  await eventually(async () => await status() !== "created" || undefined);
  assertEquals((await kv.get(keys.executionRetry(next))).value, null);
});

Deno.test("processes that are stopped under load lose no launch, and double none", async () => {
  const findings = new Findings();
  await hostedFaults(findings, new Random(1), { stops: 2, launches: 15, most: 2, kills: 0 });
  findings.assertNone();
});
