/** Timelines, crons and stops of the platform, as it plays them. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Findings, Random } from "../faults/findings.ts";
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

Deno.test("processes that are stopped under load lose no launch, and double none", async () => {
  const findings = new Findings();
  await hostedFaults(findings, new Random(1), { stops: 2, launches: 15, most: 2, kills: 0 });
  findings.assertNone();
});
