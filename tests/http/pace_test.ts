/** The pace of a trigger: bursts, limits of keys and delays, from the sender's request to the work. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { hash } from "node:crypto";
import { ParsedValueBudget } from "../../src/http/door/parsed_value_budget.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { type ApiAnswer, eventually, startService, type TestService } from "../data.ts";

const PROJECT = `
- step:
    name: gated
    image: debian
    command: while [ ! -e "$GATE" ]; do sleep 0.05; done; cat "$VH_INPUTS_DIR"/payload/* || true
    inputs: [{ name: payload, optional: true }]
    environment-variables:
      - { name: GATE, optional: true }
- step:
    name: fails
    image: debian
    command: exit 3
`;

/** A service, and a project whose steps wait for a file. */
class Site implements AsyncDisposable {
  #triggers = 0;

  constructor(readonly service: TestService) {}

  static async open(): Promise<Site> {
    const service = await startService();
    await Deno.mkdir(`${service.folder}/paced`);
    await Deno.writeTextFile(`${service.folder}/paced/valohai.yaml`, PROJECT);
    const directory = `${service.folder}/paced`;
    const { status } = await service.api("PUT", "projects/paced/", { name: "paced", directory });
    assertEquals(status, 201);
    return new Site(service);
  }

  /** Makes a trigger; its step ends once the gate is open. */
  async trigger(settings: Record<string, unknown>): Promise<Sender> {
    const name = `paced-${++this.#triggers}`;
    const gate = `${this.service.folder}/gate-${name}`;
    const { id, url } = await this.service.trigger({
      name,
      project: "paced",
      actions: [{
        type: "run_execution",
        step: "gated",
        payload_input_name: "payload",
        environment: { GATE: gate },
      }],
      response: { type: "text", text: "{run_id}" },
      ...settings,
    });
    return new Sender(this.service, { id, url, gate });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
  }
}

class Sender {
  constructor(
    readonly service: TestService,
    readonly trigger: { id: string; url: string; gate: string },
  ) {}

  /** Launches, and answers the run's id. */
  async launch(body: unknown): Promise<string> {
    const answer = await fetch(this.trigger.url, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    assertEquals(answer.status, 200, text);
    return text;
  }

  /** What the sender is told of a run. */
  async info(run_id: string): Promise<ApiAnswer["body"]> {
    const answer = await fetch(`${this.trigger.url}run/?run_id=${run_id}`);
    return await answer.json();
  }

  /** What the owner sees of a run. */
  async run(id: string): Promise<ApiAnswer["body"]> {
    return (await this.service.api("GET", `runs/${id}/`)).body;
  }

  /** Waits until a run has ended. */
  ended(id: string): Promise<ApiAnswer["body"]> {
    return eventually(async () => {
      const run = await this.run(id);
      return run.status === "pending" ? undefined : run;
    }, { what: `the end of run ${id}` });
  }

  /** Lets the steps end. */
  async open(): Promise<void> {
    await Deno.writeTextFile(this.trigger.gate, "");
  }
}

Deno.test("the pace of a trigger", async (t) => {
  await using site = await Site.open();
  await t.step("a burst becomes one run, and each sender is told", async () => {
    const sender = await site.trigger({
      coalesce: { key: "{body.number}", window: 3_600 },
    });
    await sender.open();
    const first = await sender.launch({ number: 1, of: "first" });
    const other = await sender.launch({ number: 2 });
    const newest = await sender.launch({ number: 1, of: "newest" });
    await sender.ended(first);
    assertEquals(await sender.info(first), {
      status: "completed",
      result: [],
      superseded_by: newest,
    });
    const { waiting } = await sender.run(newest);
    assertEquals([waiting.for, waiting.key], ["burst", "1"]);
    assertEquals((await sender.info(newest)).status, "pending");
    const { status, body } = await site.service.api("POST", `runs/${newest}/launch/`);
    assertEquals(status, 200, JSON.stringify(body));
    const { actions } = await sender.ended(newest);
    const { execution_id } = actions[0].created;
    const log = await eventually(async () => {
      const { body } = await site.service.api("GET", `executions/${execution_id}/`);
      return body.ended_at && body;
    });
    assertEquals(log.status, "complete");
    const stopped = await site.service.api("POST", `runs/${other}/stop/`);
    assertEquals([stopped.status, stopped.body.status], [200, "error"]);
    assertMatch(stopped.body.actions[0].error, /^Stopped by .* before its turn$/);
    assertEquals((await site.service.api("POST", `runs/${other}/stop/`)).status, 409);
    const { body: listed } = await site.service.api(
      "GET",
      `deliveries/?trigger=${sender.trigger.id}`,
    );
    assertEquals(listed.results.length, 3);
  });
  await t.step(
    "runs of a key follow each other once their work has ended, and over a restart",
    async () => {
      const sender = await site.trigger({
        concurrency: { key: "{body.customer}", limit: 1 },
      });
      const [a, b, c] = [
        await sender.launch({ customer: "x" }),
        await sender.launch({ customer: "x" }),
        await sender.launch({ customer: "x" }),
      ];
      await sender.ended(a);
      // Its run has ended, and its execution has not.
      const { waiting } = await sender.run(b);
      assertEquals([waiting.for, waiting.place, waiting.behind], ["concurrency", 1, [a]]);
      assertEquals((await sender.run(c)).waiting.place, 2);
      const all = await site.service.api("GET", `triggers/${sender.trigger.id}/runs/`);
      assertEquals(all.body.results.map(({ id }: { id: string }) => id), [c, b, a]);
      await site.service.restart();
      assertEquals((await sender.run(c)).waiting.place, 2);
      await sender.open();
      await sender.ended(c);
      const ends = await Promise.all([a, b, c].map(async (id) => {
        const { actions: [action] } = await sender.run(id);
        return await eventually(async () => {
          const { body } = await site.service.api(
            "GET",
            `executions/${action.created.execution_id}/`,
          );
          return body.ended_at && body;
        });
      }));
      const [endOfA, endOfB, endOfC] = ends;
      assert(endOfA.ended_at <= endOfB.created_at, JSON.stringify(ends));
      assert(endOfB.ended_at <= endOfC.created_at, JSON.stringify(ends));
    },
  );
  await t.step("a newer run is refused while the work of another one is under way", async () => {
    const sender = await site.trigger({ concurrency: { when_full: "refuse" } });
    const first = await sender.launch({});
    await sender.ended(first);
    const refused = await sender.launch({});
    await sender.ended(refused);
    assertEquals(await sender.info(refused), {
      status: "completed",
      result: [],
      skipped_by: first,
    });
    await sender.open();
  });
  await t.step("a delay is seconds, or a time in the request", async () => {
    const sender = await site.trigger({ delay: "body.run_at" });
    await sender.open();
    const at = new Date(Date.now() + 86_400_000).toISOString();
    const later = await sender.launch({ run_at: at });
    assertEquals((await sender.run(later)).waiting, { for: "delay", until: at });
    for (
      const [run_at, until] of [
        ["2099-01-31", "2099-01-31T00:00:00.000Z"],
        ["2099-01-31T12:00+02:00", "2099-01-31T10:00:00.000Z"],
        ["Sat, 31 Jan 2099 12:00:00 GMT", "2099-01-31T12:00:00.000Z"],
      ]
    ) {
      const id = await sender.launch({ run_at });
      assertEquals((await sender.run(id)).waiting, { for: "delay", until });
    }
    // A time that has passed, and a number of seconds beyond all times that there are.
    for (const run_at of ["2026-01-01T00:00:00Z", 8.64e12]) {
      const id = await sender.launch({ run_at });
      assertEquals((await sender.run(id)).id, id);
      await sender.ended(id);
    }
    assertEquals((await site.service.api("POST", `runs/${later}/launch/`)).status, 200);
    await sender.ended(later);
  });
  await t.step("a credential that is a key is not shown", async () => {
    const secret = "a-token-in-the-body-itself";
    const sender = await site.trigger({
      conditions: [{ type: "static_token", secrets: [secret], in: "body", name: "token" }],
      coalesce: { key: "of {body.token}", window: 3_600 },
    });
    await sender.open();
    const burst = await sender.launch({ token: secret });
    const keyOf = (text: string) => `sha256:${hash("sha256", text)}`;
    assertEquals((await sender.run(burst)).waiting.key, keyOf(`of ${secret}`));
    const next = await sender.launch({ token: secret });
    assertEquals((await sender.ended(burst)).superseded_by, next);
    assertEquals((await site.service.api("POST", `runs/${next}/launch/`)).status, 200);
    await sender.ended(next);
  });
  await t.step("a credential in a body is not shown in the payload of a burst", async () => {
    const { api } = site.service;
    const secret = "a-token-in-the-body-itself";
    const sender = await site.trigger({
      conditions: [{ type: "static_token", secrets: [secret], in: "body", name: "token" }],
      coalesce: { window: 3_600, keep: "all" },
    });
    await sender.open();
    const form = `${new URLSearchParams({ token: secret, of: "form" })}`;
    const asForm = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const cases: [body: string, init: RequestInit, shown: string][] = [
      [
        JSON.stringify({ of: "json", token: secret }),
        {},
        '"body":{"of":"json","token":"********"}',
      ],
      [form, asForm, '"body":"********"'],
    ];
    for (const [body, init, expected] of cases) {
      const answer = await fetch(sender.trigger.url, { method: "POST", body, ...init });
      const id = await answer.text();
      assertEquals(answer.status, 200, id);
      assertEquals((await api("POST", `runs/${id}/launch/`)).status, 200);
      const { superseded_by: made } = await sender.ended(id);
      await sender.ended(made);
      const { body: replay } = await api("POST", `deliveries/${made}/replay/`);
      assertEquals((await api("POST", `runs/${replay.id}/launch/`)).status, 200);
      const { superseded_by: again } = await sender.ended(replay.id);
      for (const each of [made, again]) {
        const { body: delivery } = await api("GET", `deliveries/${each}/`);
        const shown = atob(delivery.body);
        assertEquals([shown.includes(secret), shown.includes("********")], [false, true], shown);
      }
      const { body: delivery } = await api("GET", `deliveries/${made}/`);
      assertEquals(atob(delivery.body).includes(expected), true, atob(delivery.body));
    }
  });
  await t.step("a schedule lists what comes, and launches now", async () => {
    const { api } = site.service;
    const { trigger: { id }, ...sender } = await site.trigger({
      conditions: [{ type: "payload_filter", expression: "false" }],
      coalesce: { key: "{body.nightly}", window: 3_600 },
      schedule: [
        { cron: "0 12 * * *", timezone: "Asia/Kolkata", payload: { nightly: "a" } },
        { cron: "0 12 * * *", payload: [null] },
      ],
    });
    assert(sender);
    const { body: { results } } = await api("GET", `triggers/${id}/schedule/?limit=3`);
    assertEquals(
      results.map(({ index, local }: { index: number; local: string }) => [index, local.slice(11)])
        .toSorted(),
      results.map(({ index }: { index: number }) => [index, ["12:00+05:30", "12:00+00:00"][index]])
        .toSorted(),
    );
    assertEquals(results.length, 3);
    const made = await api("POST", `triggers/${id}/schedule/run/`, { index: 0 });
    assertEquals(made.status, 201, JSON.stringify(made.body));
    const { source, launched_by, waiting, payload: { content_type } } = made.body;
    assertEquals([source, launched_by.kind, content_type], [
      "schedule",
      "operator",
      "application/json",
    ]);
    assertEquals(waiting.key, "a");
    const { body: delivery } = await api("GET", `deliveries/${made.body.id}/`);
    assertEquals([delivery.source, delivery.outcome], ["schedule", "accepted"]);
    assertEquals(delivery.verdicts, undefined);
    assertEquals(atob(delivery.body), '{"nightly":"a"}');
    const again = await api("POST", `deliveries/${made.body.id}/replay/`);
    assertEquals([again.status, again.body.replay_of], [201, made.body.id]);
    const none = await api("POST", `triggers/${id}/schedule/run/`, { index: 2 });
    assertEquals(none.status, 409, JSON.stringify(none.body));
    await api("PATCH", `triggers/${id}/`, { enabled: false });
    assertEquals((await api("GET", `triggers/${id}/schedule/`)).body.results, []);
    assertEquals((await api("POST", `triggers/${id}/schedule/run/`, {})).status, 409);
  });
  await t.step("a value that is missing is the empty key, and a long key is its hash", async () => {
    const sender = await site.trigger({ coalesce: { key: "{body.team}", window: 3_600 } });
    const long = "ä".repeat(129);
    const keys: [body: unknown, key: string][] = [
      [{}, ""],
      [{ team: "ä".repeat(128) }, "ä".repeat(128)],
      [{ team: long }, `sha256:${hash("sha256", long)}`],
    ];
    for (const [body, key] of keys) {
      const { waiting } = await sender.run(await sender.launch(body));
      assertEquals([waiting.for, waiting.key], ["burst", key]);
    }
  });
  await t.step("the trigger's log says which values a request did not have", async () => {
    const sender = await site.trigger({
      coalesce: { key: "{body.team}", window: 3_600 },
      concurrency: { key: "a {body.repository}" },
      delay: "body.at",
    });
    const { id } = sender.trigger;
    const at = "2099-01-01T00:00:00Z";
    const whole = { team: "t", repository: "r", at };
    const missing = (name: string) => `field not found: ${name}`;
    const noTime = "Expected a timestamp, a text with one, or a number of seconds";
    const cases: [body: unknown, pointer: string, expression: string, error: string][] = [
      [{ ...whole, team: undefined }, "/coalesce/key", "body.team", missing("team")],
      [
        { ...whole, repository: undefined },
        "/concurrency/key",
        "body.repository",
        missing("repository"),
      ],
      [
        { ...whole, repository: ["r"] },
        "/concurrency/key",
        "body.repository",
        "expected a text, a number, true or false of {body.repository}, found a list",
      ],
      [{ ...whole, at: undefined }, "/delay", "body.at", missing("at")],
      [{ ...whole, at: "soon" }, "/delay", "body.at", noTime],
      [{ ...whole, at: true }, "/delay", "body.at", noTime],
      // A field of a form is a text.
      [{ ...whole, at: "600" }, "/delay", "body.at", noTime],
      [{ ...whole, at: "Room 2099" }, "/delay", "body.at", noTime],
      // It would be another time in each time zone in which the service may run.
      [{ ...whole, at: "2099-01-01T00:00:00" }, "/delay", "body.at", noTime],
      [{ ...whole, at: "2099-02-30T00:00:00Z" }, "/delay", "body.at", noTime],
      // Later than any time that there is.
      [{ ...whole, at: 8.64e12 }, "/delay", "body.at", noTime],
    ];
    await sender.launch(whole);
    const expected = [];
    for (const [body, pointer, expression, error] of cases) {
      const run_id = await sender.launch(body);
      expected.unshift({ kind: "pace_incomplete", run_id, pointer, expression, error });
    }
    const { body: replayed } = await site.service.api(
      "POST",
      `deliveries/${expected.at(-1)?.run_id}/replay/`,
    );
    expected.unshift({ ...expected.at(-1), run_id: replayed.id });
    const entries = await eventually(async () => {
      const { body } = await site.service.api("GET", `triggers/${id}/log/`);
      return body.results.length >= expected.length && body.results;
    }, { what: "the entries of the log" });
    const found = entries.map((
      { kind, run_id, pointer, expression, error }: Record<string, unknown>,
    ) => ({ kind, run_id, pointer, expression, error }));
    assertEquals(found, expected);
  });
  await t.step("mistakes are refused when a trigger is saved", async () => {
    const base = { name: "wrong", project: "files", actions: [{ type: "fetch_repository" }] };
    const table: [Record<string, unknown>, string, RegExp][] = [
      [{ coalesce: { key: "{bod.a}", window: 1 } }, "/coalesce/key", /Unknown variable 'bod'/],
      [{ coalesce: { window: 10, max_wait: 5 } }, "/coalesce/max_wait", /at least the window, 10/],
      [{ coalesce: { window: 86_400, max_wait: 864_001 } }, "/coalesce/max_wait", /at most 864000/],
      [{ coalesce: { key: "a" } }, "/coalesce/window", /./],
      [{ concurrency: { key: "{nothing}" } }, "/concurrency/key", /Unknown variable/],
      [{ concurrency: { limit: 0 } }, "/concurrency/limit", /./],
      [{ delay: "bod.at" }, "/delay", /Unknown variable 'bod'/],
      [{ delay: -1 }, "/delay", /./],
      [{ schedule: [{ cron: "0 0 3 * * *" }] }, "/schedule/0/cron", /Expected five fields/],
      [{ schedule: [{ cron: "0 0 30 2 *" }] }, "/schedule/0/cron", /never does/],
      [
        { schedule: [{ cron: "@daily" }, { cron: "@daily", timezone: "Europe/Helsinky" }] },
        "/schedule/1/timezone",
        /did you mean Europe\/Helsinki\?/,
      ],
      [
        { schedule: [{ cron: "@daily", timezone: "+02:00" }] },
        "/schedule/0/timezone",
        /found "\+02/,
      ],
      [{ schedule: [{ cron: "@daily", missed: "all" }] }, "/schedule/0/missed", /./],
      [
        { schedule: [{ cron: "@daily", payload: "a".repeat(20_000) }] },
        "/schedule/0/payload",
        /bytes/,
      ],
    ];
    for (const [settings, pointer, detail] of table) {
      const { status, body } = await site.service.api("POST", "triggers/", {
        ...base,
        ...settings,
      });
      assertEquals(status, 422, JSON.stringify(settings));
      assertEquals(body.errors[0].pointer, pointer);
      assertMatch(body.errors[0].detail, detail);
    }
    // The longest wait that a trigger gets without it can be written, too.
    const coalesce = { window: 86_400, max_wait: 864_000 };
    const longest = { ...base, coalesce };
    assertEquals((await site.service.api("POST", "triggers/?dry_run", longest)).status, 200);
  });
});

Deno.test("a launch whose key cannot be read now is stored under no other", async () => {
  await using service = await startService();
  const { heavyWork } = service.service.parts;
  const { id, url } = await service.trigger({
    // An expression of any cost is for the Worker.
    coalesce: { key: "{body.n.split(',')[0]}", window: 3_600 },
  });
  const body = '{"n":"1"}';
  const refused = async (url: string) => {
    const answer = await fetch(url, { method: "POST", body });
    await answer.body?.cancel();
    return [answer.status, answer.headers.has("retry-after")];
  };
  {
    const why = new UnavailableError("Cannot do heavy work now: too much of it waits already", 2);
    using _busy = replaced(heavyWork, "run", () => Promise.reject(why));
    assertEquals(await refused(url), [503, true]);
  }
  {
    const { url } = await service.trigger({ coalesce: { key: "{body.n}", window: 3_600 } });
    using _full = replaced(ParsedValueBudget.prototype, "take", () => false);
    assertEquals(await refused(url), [503, true]);
  }
  {
    const sender = new AbortController();
    using _busy = replaced(
      heavyWork,
      "run",
      (_kind: string, _input: object, { signal }: Options) => {
        sender.abort();
        return new Promise((_, reject) => signal.addEventListener("abort", reject));
      },
    );
    await assertRejects(() => fetch(url, { method: "POST", body, signal: sender.signal }));
    const outcomes = await eventually(async () => {
      const { body: { results } } = await service.api("GET", `deliveries/?trigger=${id}`);
      const found = results.map(({ outcome }: { outcome: string }) => outcome);
      return found.length === 2 && found;
    }, { what: "the deliveries" });
    assertEquals(new Set(outcomes), new Set(["unavailable"]));
  }
});

interface Options {
  signal: AbortSignal;
}

/** Puts another function in the place of one, until it is disposed of. */
function replaced(of: object, name: string, other: unknown): Disposable {
  const before = Object.getOwnPropertyDescriptor(of, name);
  Object.defineProperty(of, name, { value: other, configurable: true });
  return {
    [Symbol.dispose]() {
      if (before) Object.defineProperty(of, name, before);
      else Reflect.deleteProperty(of, name);
    },
  };
}
