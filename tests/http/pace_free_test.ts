/** A trigger without a pace: its launches read and write nothing of paces, beside triggers that have one. */
import { assertEquals, assertGreater } from "@std/assert";
import { eventually, startService } from "../data.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";

const LAUNCHES = 10;
/** The first parts of the keys of paces. */
const OF_PACE = ["held", "burst", "turn", "pace_mark"];

Deno.test("a launch of a trigger without a pace reads and writes nothing of paces", async () => {
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  await using remote = new RemoteKv();
  const way = remote.way();
  await using service = await startService({
    settings: { kv: way.url, secretKey: "00".repeat(32) },
  });
  const of = (counts: ReadonlyMap<string, number>) => OF_PACE.map((part) => counts.get(part) ?? 0);
  const counted = () => ({ reads: of(way.counts.reads), writes: of(way.counts.writes) });
  // An execution reads its run, wherever that is when it begins: these runs make none.
  const actions = [{ type: "run_execution", step: "copy", if: "false" }];
  const common = { actions, response: { type: "text", text: "{run_id}" } };
  const paced = await service.trigger({ ...common, delay: 3_600 });
  const plain = await service.trigger(common);
  const launch = async (url: string): Promise<string> => {
    const answer = await fetch(url, { method: "POST", body: "{}" });
    const text = await answer.text();
    assertEquals(answer.status, 200, text);
    return text;
  };

  const before = counted();
  const { worker, triggers } = service.service.parts;
  for (let count = 0; count < LAUNCHES; count++) await launch(plain.url);
  // Not by the API, which looks for runs that wait.
  await eventually(() => worker.backlog === 0);
  assertEquals(counted(), before);
  const prepared = await triggers.prepared(plain.id);
  assertEquals(prepared?.pace, undefined);

  // What is counted is what a pace needs.
  await launch(paced.url);
  await eventually(() => worker.pacer.waiting === 1);
  await worker.pacer.settled();
  const [held = 0] = counted().writes;
  assertGreater(held, before.writes[0] ?? 0);
});
