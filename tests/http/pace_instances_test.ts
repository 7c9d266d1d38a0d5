/** The pace of triggers where two instances share a database, whichever of them is asked, and over a change of the leader. */
import { assert, assertEquals } from "@std/assert";
import {
  ADMIN_TOKEN,
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../data.ts";
import { has } from "../needs.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { AheadClock, temporaryFolder } from "../surroundings.ts";

const LAUNCHES = 6;
/** Those of a key are more than are launched of one key elsewhere; those of a trigger, than the others together. */
const LIMITS = { runs_of_trigger: 24, runs_of_key: 8, keys_of_trigger: 5, runs_of_instance: 4 };
const INSTANCES = 2;
/** Launches that are sent to an instance at once. */
const CROWD = 8;

const PROJECT = `
- step:
    name: noted
    image: debian
    command: echo "begins {parameter-value:n}" >> "$NOTES"; echo "ends {parameter-value:n}" >> "$NOTES"
    parameters: [{ name: n, type: string, default: "" }]
    environment-variables: [{ name: NOTES }]
- step: { name: slow, image: debian, command: sleep 600 }
`;

Deno.test("the pace of triggers over two instances", async (t) => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const kv = has("denokv")
    ? stack.use(await denokv(folder.path)).url
    : stack.use(new RemoteKv()).way().url;
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const clock = new AheadClock();
  const settings = { kv, secretKey: "00".repeat(32), paceLimits: LIMITS };
  const start = () => startService({ clock, settings });
  const leader = await start();
  const follower = stack.use(await start());
  let isLeading = true;
  stack.defer(() => isLeading ? leader[Symbol.asyncDispose]() : undefined);

  const directory = `${folder.path}/noted`;
  await Deno.mkdir(directory);
  await Deno.writeTextFile(`${directory}/valohai.yaml`, PROJECT);
  const { status } = await follower.api("PUT", "projects/noted/", { name: "noted", directory });
  assertEquals(status, 201);
  let triggers = 0;
  const make = async (settings: Record<string, unknown>) => {
    const notes = `${folder.path}/notes-${++triggers}`;
    const { id } = await follower.trigger({
      name: `noted-${triggers}`,
      project: "noted",
      actions: [{
        type: "run_execution",
        step: "noted",
        parameters: { n: "{string(body.?n.orValue('-'))}" },
        environment: { NOTES: notes },
      }],
      response: { type: "text", text: "{run_id}" },
      ...settings,
    });
    return { id, noted: async () => (await Deno.readTextFile(notes)).trim().split("\n") };
  };
  const launch = ({ url }: TestService, id: string, body: unknown): Promise<string> =>
    eventually(async () => {
      const sent = { method: "POST", body: JSON.stringify(body) };
      const answer = await fetch(`${url}/api/v0/launch/${id}/`, sent);
      const text = await answer.text();
      // On a busy machine the other one may not know the clock of the leader. Nothing is stored then.
      if (answer.status === 503) return undefined;
      assertEquals(answer.status, 200, text);
      return text;
    }, { what: "an accepted launch" });
  const ended = async (runId: string): Promise<void> => {
    const { actions: [{ created }] } = await endOfRun(follower, runId);
    await eventually(async () => {
      const { body } = await follower.api("GET", `executions/${created.execution_id}/`);
      return body?.ended_at;
    }, { what: `the end of the execution of run ${runId}` });
  };
  const waitingOf = async (service: TestService, runId: string): Promise<string | undefined> =>
    (await service.api("GET", `runs/${runId}/`)).body.waiting?.for;

  await t.step("runs of a key begin in the order in which senders were answered", async () => {
    const { id, noted } = await make({ concurrency: { key: "{body.key}", limit: 1 } });
    const runs: string[] = [];
    for (let n = 0; n < LAUNCHES; n++) {
      runs.push(await launch(n % 2 === 0 ? follower : leader, id, { key: "k", n }));
    }
    for (const run of runs) await ended(run);
    const order = runs.flatMap((_, n) => [`begins ${n}`, `ends ${n}`]);
    assertEquals(await noted(), order);
  });

  await t.step("a delay ends by itself, or by hand at any instance", async () => {
    const { id } = await make({ delay: "body.delay" });
    const soon = await launch(follower, id, { delay: 1 });
    const later = [leader, follower].map((service) => launch(service, id, { delay: 3_600 }));
    const [one = "", other = ""] = await Promise.all(later);
    await ended(soon);
    for (const [run, at] of [[one, follower], [other, leader]] as const) {
      await eventually(async () => await waitingOf(leader, run) === "delay" || undefined, {
        what: "the leader knowing what the other has accepted",
      });
      assertEquals(await waitingOf(follower, run), "delay");
      assertEquals((await at.api("POST", `runs/${run}/launch/`)).status, 200);
      await ended(run);
    }
  });

  const refusals = async ({ url }: TestService, limit: string): Promise<number> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const text = await (await fetch(`${url}/metrics`, { headers })).text();
    const name = `hooklaunch_waiting_refusals_total{limit="${limit}"}`;
    return Number(text.split("\n").find((line) => line.startsWith(name))?.split(" ")[1]);
  };
  /** Launches at all instances until each has turned one away by a limit; returns the runs that were accepted. */
  const untilFull = async (
    limit: string,
    id: string,
    body: (index: number) => unknown,
  ): Promise<string[]> => {
    const services = [leader, follower];
    const before = await Promise.all(services.map((service) => refusals(service, limit)));
    const accepted: string[] = [];
    let sent = 0;
    const one = async ({ url }: TestService) => {
      const answer = await fetch(`${url}/api/v0/launch/${id}/`, {
        method: "POST",
        body: JSON.stringify(body(sent++)),
      });
      const text = await answer.text();
      if (answer.status === 200) accepted.push(text);
      else assertEquals(answer.status, 503, text);
    };
    await eventually(async () => {
      const crowd = Array.from({ length: CROWD }, () => services.map(one)).flat();
      await Promise.all(crowd);
      const now = await Promise.all(services.map((service) => refusals(service, limit)));
      return now.every((count, index) => count > (before[index] ?? 0));
    }, { what: `a refusal by ${limit} at each instance` });
    return accepted;
  };
  const stop = async (runs: readonly string[]): Promise<void> => {
    const open = new Set(runs);
    await eventually(async () => {
      for (const run of open) {
        const { body } = await follower.api("GET", `runs/${run}/`);
        if (body.status === "pending") await follower.api("POST", `runs/${run}/stop/`);
        else open.delete(run);
      }
      return open.size === 0;
    }, { what: "the end of all runs" });
    for (const run of runs) {
      const { body } = await follower.api("GET", `runs/${run}/`);
      for (const { created } of body.actions) {
        if (created?.execution_id === undefined) continue;
        await follower.api("POST", `executions/${created.execution_id}/stop/`);
        await endOfExecution(follower, created.execution_id);
      }
    }
  };
  const key = "{body.key}";
  const slow = {
    concurrency: { key, limit: 1 },
    actions: [{ type: "run_execution", step: "slow" }],
  };
  const window = 3_600;
  for (
    const [limit, settings, body, most] of [
      ["runs_of_trigger", { delay: window }, () => ({}), LIMITS.runs_of_trigger],
      // One more is at work.
      ["runs_of_key", slow, () => ({ key: "k" }), LIMITS.runs_of_key + 1],
      [
        "keys_of_trigger",
        { coalesce: { key, window } },
        (n: number) => ({ key: `${n}` }),
        LIMITS.keys_of_trigger,
      ],
    ] as const
  ) {
    await t.step(`limits hold at each instance, but for a few launches: ${limit}`, async () => {
      const { id } = await make(settings);
      const accepted = await untilFull(limit, id, body);
      const { length } = accepted;
      assert(length >= most, `${length}`);
      assert(length <= most + INSTANCES * LIMITS.runs_of_instance, `${length}`);
      if (limit === "runs_of_key") accepted.push(await launch(follower, id, { key: "another" }));
      await stop(accepted);
      await stop([await launch(follower, id, body(0))]);
    });
  }

  await t.step(
    "each occurrence makes one run, also where another instance leads then",
    async () => {
      // None is due meanwhile.
      clock.toHour(60_000);
      const { id } = await make({ schedule: [{ cron: "0 * * * *", payload: { n: "s" } }] });
      const made = await follower.api("POST", `triggers/${id}/schedule/run/`, {});
      assertEquals(made.status, 201, JSON.stringify(made.body));
      const times = async (): Promise<string[]> => {
        const { body }: ApiAnswer = await follower.api("GET", `triggers/${id}/runs/`);
        return body.results.flatMap((run: { scheduled_for?: string }) => run.scheduled_for ?? []);
      };
      const tick = () =>
        Promise.all([leader, follower].map(({ service }) => service.parts.scheduler.tick()));
      clock.toHour();
      await tick();
      const [first, ...others] = await times();
      assert(first);
      assertEquals(others, []);
      isLeading = false;
      await leader[Symbol.asyncDispose]();
      await eventually(() => follower.service.leads, { what: "another leader" });
      assertEquals(await times(), [first]);
      clock.toHour();
      await follower.service.parts.scheduler.tick();
      assertEquals((await times()).length, 2);
      assertEquals(new Set(await times()).size, 2);
    },
  );
});
