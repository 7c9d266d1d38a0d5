/** The look of a cron for work that waits, while the service is closed. */
import { assertEquals } from "@std/assert";
import { isWorkPending } from "../../src/hosted/pending_work.ts";
import { keys } from "../../src/store/keys.ts";

const ID = "01900000-0000-7000-8000-000000000001";

/** The look at work that a killed instance leaves. */
const CASES: [what: string, left: Deno.KvKey[], isPending: boolean][] = [
  ["nothing", [], false],
  ["a pending run", [keys.pending(ID, ID)], true],
  ["an execution", [keys.executionOpen(ID)], true],
  ["a replay that goes on", [keys.runningReplay(ID)], true],
  ["a callback that is not made", [keys.callbackDue(ID)], true],
  ["a notification that is not sent", [keys.notificationOpen(ID), keys.notifier("ops")], true],
  ["an end that is not told", [keys.notice(ID), keys.notifier("ops")], true],
  ["a status that is not set", [keys.statusDue(ID), keys.notifier("ops")], true],
  [
    "an end and a status that nobody is to be told of",
    [keys.notice(ID), keys.statusDue(ID)],
    false,
  ],
  ["a notifier that has nothing to tell", [keys.notifier("ops")], false],
];

for (const [what, left, isPending] of CASES) {
  Deno.test(`work that waits: ${what}`, async () => {
    using kv = await Deno.openKv(":memory:");
    for (const key of left) await kv.set(key, "x");
    assertEquals(await isWorkPending(kv, Date.now()), isPending);
  });
}
