/**
 * A data folder that is moved, removed or replaced under the running service: from then on no launch is
 * answered 200, the service says what happened, and it ends with code 1.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { eventually } from "../surroundings.ts";
import { Findings, pause } from "./findings.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, shell } from "./served.ts";
import { checkStored } from "./stored.ts";
import { workshop } from "./workshop.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
const SENDERS = 4;
/** Each launch runs a command. */
const PAUSE_MS = 5;
/** So many launches are taken before the change. */
const KEPT_MIN = 10;
const CONDITIONS = [{ type: "deduplication", in: "header", name: "x-id", window: 86_400 }];

/** An execution that is just starting may make its folders anew. */
const REMOVE = "rm -rf data || rm -rf data || true";

/** What somebody does in the folder of the data folder, and what the service says then. */
const ways: { name: string; does: string; says: RegExp; kept?: string }[] = [
  {
    name: "removed",
    does: REMOVE,
    says: /data\S* is not what .* opened: (it is gone|another one is in its place)/,
  },
  {
    name: "moved",
    does: "mv data elsewhere",
    says: /data is not what .* opened: (it is gone|another one is in its place)/,
    kept: "elsewhere",
  },
  {
    name: "moved, with another in its place",
    does: "cp -a data copy; mv data elsewhere; mv -T copy data || true",
    says: /data is not what .* opened: (it is gone|another one is in its place)/,
    kept: "elsewhere",
  },
  {
    name: "given another database",
    does: "cp data/hooklaunch.kv new; mv new data/hooklaunch.kv",
    says: /hooklaunch\.kv is not what .* opened: another one is in its place/,
  },
  {
    name: "robbed of its WAL",
    does: "rm data/hooklaunch.kv-wal",
    says: /hooklaunch\.kv-wal is not what .* opened: it is gone/,
  },
];

/** Launches until the service is gone, and keeps what was answered 200: at once, and after the change. */
function launchUntilEnd(served: Served, seen: { kept: string[]; late: string[] }) {
  let hasChanged = false;
  const work = Promise.all(Array.from({ length: SENDERS }, async (_, sender) => {
    using connection = new Sender(() => served.port);
    for (let count = 0; !served.hasEnded; count++) {
      const isLate = hasChanged;
      // Each delivery comes twice: a repeat is answered without a commit.
      const headers = { "x-id": `${sender}.${Math.floor(count / 2)}` };
      const outcome = await connection.post(LAUNCH, new Uint8Array(100), headers);
      if (typeof outcome !== "string" && outcome.status === 200) {
        (isLate ? seen.late : seen.kept).push(outcome.body);
      }
      await pause(PAUSE_MS);
    }
  }));
  return { hasChanged: () => void (hasChanged = true), work };
}

for (const { name, does, says, kept } of ways) {
  Deno.test(`a data folder that is ${name} under load ends the service, and no launch is answered 200`, async () => {
    await using shop = await workshop([{ id: ID, name: "t", conditions: CONDITIONS }]);
    await using served = await serve(shop.folder);
    const seen = { kept: [] as string[], late: [] as string[] };
    const launching = launchUntilEnd(served, seen);
    await eventually(() => served.hasEnded || seen.kept.length >= KEPT_MIN || undefined);
    await shell(`cd '${shop.folder}'; ${does}`);
    launching.hasChanged();
    const { code } = await served.end();
    await launching.work;
    assertEquals(code, 1);
    assertMatch(served.printed(), says);
    assertEquals(seen.late, []);
    assert(seen.kept.length > 0);
    if (kept === undefined) return;
    const findings = new Findings();
    const runs = await checkStored(`${shop.folder}/${kept}`, findings);
    findings.assertNone();
    for (const id of seen.kept) assert(runs.has(id), `run ${id} was promised`);
  });
}

Deno.test("an idle service whose data folder is removed is not ready, and ends", async () => {
  await using shop = await workshop([{ id: ID, name: "t" }]);
  await using served = await serve(shop.folder);
  await shell(`rm -rf '${shop.folder}/data'`);
  // It may have ended already.
  const status = await fetch(`${served.url}/readyz`).then(async (answer) => {
    await answer.body?.cancel();
    return answer.status;
  }, () => 503);
  assertEquals(status, 503);
  const { code } = await served.end();
  assertEquals(code, 1);
  assertMatch(served.printed(), /Was the data folder moved, removed or replaced\?/);
});

Deno.test("a repeat is not answered 200 when the run that it made is gone", async () => {
  await using shop = await workshop([{ id: ID, name: "t", conditions: CONDITIONS }]);
  await using served = await serve(shop.folder);
  using sender = new Sender(() => served.port);
  const post = () => sender.post(LAUNCH, new Uint8Array(10), { "x-id": "one" });
  const first = await post();
  assert(typeof first !== "string" && first.status === 200);
  const again = await post();
  assert(typeof again !== "string" && again.body === first.body);
  await shell(`cd '${shop.folder}'; ${REMOVE}`);
  const late = await post();
  assert(typeof late === "string" || late.status === 503);
  await served.end();
});
