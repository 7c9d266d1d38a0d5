/** Instances that share a database, and their machines. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { instanceCauses } from "../../../src/attention/instance_causes.ts";
import type { Instances } from "../../../src/store/commit/instances.ts";
import { keys } from "../../../src/store/keys.ts";
import type { Store } from "../../../src/store/store.ts";
import { ConflictError } from "../../../src/platform/errors.ts";
import { eventually, TestClock } from "../../surroundings.ts";
import { sharedStore } from "../fixture.ts";

Deno.test("instances: a copy of a data folder is refused while the instance of the other one lives", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const machineId = crypto.randomUUID();
  await using first = await sharedStore(kv, clock, { machineId });
  await first.shared?.instances.takeMachine();
  await using second = await sharedStore(kv, clock, { leads: false, machineId });
  const take = async () => await second.shared?.instances.takeMachine();
  await assertRejects(take, ConflictError, "remove the file machine_id");
  const hasMachine = () =>
    first.shared?.instances.all.filter(({ has_machine }) => has_machine).map(({ isSelf }) =>
      isSelf
    );
  await eventually(() => hasMachine()?.length === 1 || undefined);
  assertEquals(hasMachine(), [true]);

  await first.shared?.leave();
  await take();
});

Deno.test("instances: one that is gone, accepts nothing or differs is a cause until that ends", async (t) => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const own = { version: "1.2.3", settings: { "--public-url": "a", "--storage": "b" } };
  const opened = async () => {
    // It looks when the test says so: one look without a sign of life is enough then.
    const store = await sharedStore(kv, clock, { look_ms: 3_600_000 });
    store.shared?.instances.announce({ url: "http://leader", ...own });
    await eventually(async () => {
      await instancesOf(store).look();
      return instancesOf(store).all.some(({ version }) => version) || undefined;
    });
    return store;
  };
  let store = await opened();
  const causes = () =>
    instanceCauses(instancesOf(store)).map(({ code, subject: { name }, text, since }) =>
      [code, name, text, since].join("|")
    );
  const other = { beats: 0, started_at: "2026-01-01T00:00:00.000Z", ...own };
  const put = async (record: Record<string, unknown> & { id: string }) => {
    await kv.set(keys.instance(record.id), { ...other, time_ms: clock.steady(), ...record });
    await instancesOf(store).look();
  };
  const goSilent = async (id: string) => {
    const isThere = async () => (await kv.get(keys.instance(id))).value !== null;
    for (let looks = 0; looks < 10 && await isThere(); looks++) await instancesOf(store).look();
    await instancesOf(store).look();
  };
  const gone = /^instance_gone\|http:\/\/b\|It has shown no sign of life for 15 s/;
  const a = { id: "a1", machine_id: "a", url: "http://b" };

  await t.step("one that is silent, until one with its machine's id is there", async () => {
    await put(a);
    assertEquals(causes(), []);
    await goSilent("a1");
    assertMatch(causes().join(), gone);
    await put({ ...a, id: "a2", url: "http://elsewhere" });
    assertEquals(causes(), []);
  });
  await t.step("until one with its address is there", async () => {
    await put(a);
    await kv.delete(keys.instance("a2"));
    await goSilent("a1");
    assertMatch(causes().join(), gone);
    await put({ ...a, id: "b1", machine_id: "b" });
    assertEquals(causes(), []);
  });
  await t.step("one that leaves is none", async () => {
    await kv.delete(keys.instance("b1"));
    await instancesOf(store).look();
    assertEquals(causes(), []);
  });
  await t.step("one that was replaced before it counted as gone is none", async () => {
    await put(a);
    await put({ ...a, id: "a2" });
    assertEquals((await kv.get(keys.instance("a1"))).value, null);
    assertEquals(causes(), []);
    await kv.delete(keys.instance("a2"));
  });
  await t.step("one without a machine of its own is none", async () => {
    await put({ ...a, id: "c", machine_id: "c" });
    await goSilent("c");
    assertEquals(causes(), []);
  });
  await t.step("under the next leader, for an hour", async () => {
    await put(a);
    await goSilent("a1");
    await store.close();
    clock.time_ms += 59 * 60_000;
    store = await opened();
    assertMatch(causes().join(), gone);
    clock.time_ms += 60_000;
    await instancesOf(store).look();
    assertEquals(causes(), []);
    assertEquals(await Array.fromAsync(kv.list({ prefix: ["gone_instance"] })), []);
  });
  const lasting: [
    what: string,
    record: Record<string, unknown>,
    after_ms: number,
    cause: string,
  ][] = [
    [
      "one that accepts nothing for 15 s",
      { obstacle: "its clock differs" },
      15_000,
      "instance_not_serving|http://b|It accepts no launches: its clock differs",
    ],
    [
      "another version for ten minutes",
      { version: "1.2.4" },
      600_000,
      "instance_differs|http://b|Its version is 1.2.4, and the leader's 1.2.3",
    ],
    [
      "no version",
      { version: undefined },
      600_000,
      "instance_differs|http://b|Its version is an earlier one, and the leader's 1.2.3",
    ],
    [
      "other settings",
      { settings: { "--public-url": "a", "--storage": "c" } },
      600_000,
      "instance_differs|http://b|It has other settings than the leader: --storage",
    ],
  ];
  for (const [what, record, after_ms, cause] of lasting) {
    await t.step(what, async () => {
      await put({ ...a, ...record });
      const since = new Date(clock.time_ms).toISOString();
      const pass = async (ms: number) => {
        clock.time_ms += ms;
        await put({ ...a, ...record });
      };
      await pass(after_ms - 1);
      assertEquals(causes(), []);
      await pass(1);
      assertEquals(causes(), [`${cause}|${since}`]);
      await put(a);
      assertEquals(causes(), []);
      await kv.delete(keys.instance("a1"));
      await instancesOf(store).look();
    });
  }
  await store.close();
});

Deno.test("instances: one is not taken for gone by a leader that saw nobody for long", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  const key = keys.instance("a");
  const started_at = "2026-01-01T00:00:00.000Z";
  const record = { id: "a", machine_id: "a", beats: 0, started_at, time_ms: clock.steady() };
  await kv.set(key, record);
  await instancesOf(store).look();
  // The leader was frozen, or the database was away for all.
  clock.time_ms += 60_000;
  await instancesOf(store).look();
  assertEquals((await kv.get(key)).value, record);
  clock.ahead_ms = 60_000;
  await instancesOf(store).look();
  assertEquals((await kv.get(key)).value, record);
  for (let looks = 0; looks < 60; looks++) await instancesOf(store).look();
  assertEquals((await kv.get(key)).value, null);
});

function instancesOf({ shared }: Store): Instances {
  assert(shared);
  return shared.instances;
}
