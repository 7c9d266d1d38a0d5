import { assert, assertEquals, assertMatch } from "@std/assert";
import { HMAC_CONDITION, signature, startService, TestClock } from "../data.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";

Deno.test("a secret with an end date matches until then and not a moment longer", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const until = new Date(clock.time_ms + 60_000).toISOString();
  const trigger = await service.trigger({
    conditions: [{
      ...HMAC_CONDITION,
      secrets: ["the-new-one", { name: "old", secret: "the-old-one", until }],
    }],
  });
  const send = async (secret: string) => {
    const headers = signature("x", secret);
    const answer = await fetch(trigger.url, { method: "POST", body: "x", headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals([await send("the-new-one"), await send("the-old-one")], [200, 200]);
  clock.time_ms += 59_999;
  assertEquals([await send("the-new-one"), await send("the-old-one")], [200, 200]);
  clock.time_ms += 1;
  assertEquals([await send("the-new-one"), await send("the-old-one")], [200, 400]);

  const { body } = await service.api("GET", `triggers/${trigger.id}/`);
  const [shownNew, { fingerprint, ...shownOld }] = body.conditions[0].secrets;
  assertMatch(fingerprint, /^[0-9a-f]{12}$/);
  assertEquals(shownOld, { name: "old", value: "********", until });
  const inTwoHours = new Date(clock.time_ms + 60_000 + 2 * 60 * 60_000).toISOString();
  const later = inTwoHours.replace("Z", "+02:00");
  const secrets = [{ ...shownOld, until: later }, shownNew];
  const conditions = [{ ...HMAC_CONDITION, secrets }];
  assertEquals((await service.api("PATCH", `triggers/${trigger.id}/`, { conditions })).status, 200);
  assertEquals(await send("the-old-one"), 200, "the masked secret was kept, its end moved");

  const database = await Deno.readFile(`${service.folder}/data/${DATABASE_FILE}`);
  const wal = await Deno.readFile(`${service.folder}/data/${DATABASE_FILE}-wal`);
  for (const bytes of [database, wal]) {
    assert(!new TextDecoder("latin1").decode(bytes).includes("the-old-one"));
  }
});

Deno.test("a stored secret is given an end, and loses it, by its name", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const trigger = await service.trigger({
    conditions: [{ ...HMAC_CONDITION, secrets: [{ name: "old", value: "the-old-one" }] }],
  });
  const sendOld = async () => {
    const headers = signature("x", "the-old-one");
    const answer = await fetch(trigger.url, { method: "POST", body: "x", headers });
    await answer.body?.cancel();
    return answer.status;
  };
  const save = async (secrets: unknown[]) => {
    const conditions = [{ ...HMAC_CONDITION, secrets }];
    return (await service.api("PATCH", `triggers/${trigger.id}/`, { conditions })).status;
  };
  const until = new Date(clock.time_ms + 60_000).toISOString();
  assertEquals(await save(["the-new-one", { name: "old", value: "********", until }]), 200);
  assertEquals(await sendOld(), 200);
  clock.time_ms += 60_000;
  assertEquals(await sendOld(), 400);
  assertEquals(await save(["********", "********"]), 422);
  assertEquals(await save([{ name: "old", value: "********" }]), 200);
  assertEquals(await sendOld(), 200);
});

Deno.test("saving a trigger warns of a condition whose secrets have all ended", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const past = { value: "an-old-secret-of-the-sender", until: new Date(clock.now()).toISOString() };
  const next = { ...past, until: new Date(clock.now() + 1).toISOString() };
  const { id } = await service.trigger();
  for (
    const [secrets, pointers] of [
      [[past], ["/conditions/0/secrets"]],
      [[past, past], ["/conditions/0/secrets"]],
      [[past, next], []],
      [[past, "a-secret-without-any-end"], []],
    ] as const
  ) {
    const conditions = [{ ...HMAC_CONDITION, secrets }];
    const { body } = await service.api("PATCH", `triggers/${id}/`, { conditions });
    const ended = body.warnings.filter(({ detail }: { detail: string }) => /ended/.test(detail));
    assertEquals(ended.map(({ pointer }: { pointer: string }) => pointer), pointers);
  }
});

Deno.test("an end that is no time is refused", async () => {
  await using service = await startService();
  const { status, body } = await service.api("POST", "triggers/", {
    name: "t",
    project: "files",
    actions: [{ type: "run_execution", step: "copy" }],
    conditions: [{ ...HMAC_CONDITION, secrets: [{ secret: "x", until: "tomorrow" }] }],
  });
  assertEquals(status, 422);
  assertMatch(body.errors[0].detail, /^Expected a date and time .* such as 2027-01-31T00:00:00Z/);
});
