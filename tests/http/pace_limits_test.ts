/** The limits of runs that wait, of launches and of schedules: the refusal, the metric, and what needs attention. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ADMIN_TOKEN, type ApiAnswer, endOfExecution, eventually, startService } from "../data.ts";
import { AheadClock } from "../surroundings.ts";

/** Longer than a schedule waits until it tries again. */
const RETRY_MS = 6_000;

Deno.test("limits of runs that wait", async (t) => {
  const clock = new AheadClock();
  const paceLimits = { runs: 6, runs_of_trigger: 4, runs_of_key: 2, keys_of_trigger: 3 };
  await using service = await startService({ clock, settings: { paceLimits } });
  const launch = (url: string, body: unknown) =>
    fetch(url, { method: "POST", body: JSON.stringify(body) });
  const metrics = async (pattern: RegExp): Promise<string[]> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    return text.match(new RegExp(pattern, "gm")) ?? [];
  };
  const pendingOf = async (id: string): Promise<string[]> => {
    const { body }: ApiAnswer = await service.api("GET", `runs/?trigger=${id}&status=pending`);
    return body.results.map((run: { id: string }) => run.id);
  };
  const stopAll = async (id: string) => {
    for (const run of await pendingOf(id)) await service.api("POST", `runs/${run}/stop/`);
    // Those with a place make their executions.
    await eventually(async () => (await pendingOf(id)).length === 0 || undefined, {
      what: "the end of all runs",
    });
    const { body } = await service.api("GET", `executions/?trigger=${id}`);
    for (const { id } of body.results) {
      await service.api("POST", `executions/${id}/stop/`);
      await endOfExecution(service, id);
    }
  };
  const key = "{body.key}";
  const slow = { actions: [{ type: "run_execution", step: "slow" }] };
  const cases: [
    limit: string,
    settings: Record<string, unknown>,
    keys: string[],
    other: string,
    why: RegExp,
  ][] = [
    ["runs_of_key", { concurrency: { key }, ...slow }, ["a", "a", "a"], "b", /2 runs of its conc/],
    ["keys_of_trigger", { coalesce: { key, window: 3_600 } }, ["a", "b", "c"], "a", /3 keys/],
    ["runs_of_trigger", { delay: 3_600 }, ["a", "a", "a", "a"], "", /4 runs of its trigger/],
  ];
  for (const [limit, settings, keys, other, why] of cases) {
    await t.step(limit, async () => {
      const { id, url } = await service.trigger(settings);
      for (const key of keys) {
        const answer = await launch(url, { key });
        assertEquals(answer.status, 200, await answer.text());
      }
      const full = await launch(url, { key: limit === "runs_of_key" ? "a" : "another" });
      assertEquals([full.status, full.headers.get("retry-after")], [503, "60"]);
      assertEquals((await full.json()).title, "Service Unavailable");
      assertEquals(await metrics(/^hooklaunch_waiting_refusals_total{limit="\w+"} 1$/), [
        `hooklaunch_waiting_refusals_total{limit="${limit}"} 1`,
      ]);
      const { body } = await service.api("GET", `deliveries/?trigger=${id}&outcome=unavailable`);
      assertMatch(JSON.stringify(body.results), why);
      if (other !== "") {
        const answer = await launch(url, { key: other });
        assertEquals(answer.status, 200, await answer.text());
      }
      await stopAll(id);
      await service.restart();
      assertEquals(await metrics(/^hooklaunch_waiting_refusals_total{.*} 1$/), []);
    });
  }

  await t.step("runs: an occurrence that finds no room is made once there is some", async () => {
    // None is due meanwhile.
    clock.toHour(60_000);
    const first = await service.trigger({ delay: 3_600 });
    const other = await service.trigger({ delay: 3_600 });
    const nightly = await service.trigger({ schedule: [{ cron: "0 * * * *" }], delay: 3_600 });
    for (const { url } of [first, first, first, other, other, other]) {
      const answer = await launch(url, {});
      assertEquals(answer.status, 200, await answer.text());
    }
    const answer = await launch(nightly.url, {});
    assertEquals([answer.status, answer.headers.get("retry-after")], [503, "60"]);
    await answer.body?.cancel();
    assertEquals(await metrics(/^hooklaunch_waiting_runs .*$/), ["hooklaunch_waiting_runs 6"]);
    clock.toHour();
    const { scheduler } = service.service.parts;
    await scheduler.tick();
    const causes = async (): Promise<ApiAnswer["body"][]> =>
      (await service.api("GET", "attention/?code=schedule_failed")).body.results;
    const [cause, ...more] = await causes();
    assertEquals([cause?.subject.id, more], [nightly.id, []]);
    assertMatch(cause.text, /^The occurrence of \S+:00:00.000Z made no run yet: .*6 runs wait/);
    assertEquals(await metrics(/^hooklaunch_causes{code="schedule_failed"} .*$/), [
      'hooklaunch_causes{code="schedule_failed"} 1',
    ]);
    const { body } = await service.api("GET", `attention/?trigger=${nightly.id}`);
    assert(body.results.some(({ code }: { code: string }) => code === "schedule_failed"));
    await stopAll(other.id);
    clock.ahead_ms += RETRY_MS;
    await scheduler.tick();
    assertEquals(await causes(), []);
    const [made = ""] = await pendingOf(nightly.id);
    const { body: run } = await service.api("GET", `runs/${made}/`);
    assertMatch(run.scheduled_for, /:00:00.000Z$/);
  });
});
