/** The retention of triggers and projects: what a look lists is what cleanup removes, and nothing else. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { newId } from "../../src/platform/ids.ts";
import { saveExecution } from "../../src/store/records/executions.ts";
import { endWrites, type Run } from "../../src/store/records/runs.ts";
import { runHosted } from "../commands/hosted.ts";
import { ADMIN_TOKEN, endOfExecution, endOfRun, startService, type TestService } from "../data.ts";
import { executionOf } from "../store/execution.ts";
import { AUTHORIZED } from "./api/fixture.ts";
import { loggedIn, textOf } from "./console/fixture.ts";

const HOUR_MS = 60 * 60_000;
const AGES_HOURS = { fresh: 2, week: 8 * 24, old: 40 * 24 } as const;
/** The text that is sent, printed and saved. */
const SENT = "labels of an image ";
const PRINT_AND_SAVE = `echo "${SENT}"; echo "${SENT}" >"$VH_OUTPUTS_DIR/saved"`;

interface LookedAt {
  kind: string;
  count: number;
  records: { id: string }[];
}

/** The size of a payload, and of an output. */
const SIZE = 1_000;

/** Stores ended runs of several ages, each with an execution, and returns their names by their ids. */
async function storeRuns(
  { service }: TestService,
  trigger_id: string,
  project: string,
  name: string,
) {
  const { store } = service.parts;
  const names = new Map<string, string>();
  for (const [age, hours] of Object.entries(AGES_HOURS)) {
    const id = newId(Date.now() - hours * HOUR_MS);
    const created_at = new Date(Date.now() - hours * HOUR_MS).toISOString();
    const sha256 = "0".repeat(64);
    const run: Run = {
      id,
      trigger_id,
      project,
      status: "completed",
      created_at,
      ended_at: created_at,
      remote_ip: "192.0.2.7",
      payload: { size: SIZE, sha256 },
      actions: [],
    };
    await store.committer.write(endWrites(run, new Uint8Array(SIZE)));
    const outputs = [{ path: "a", size: SIZE, sha256 }];
    const made = { id: newId(Date.now() - hours * HOUR_MS), run_id: id, created_at, outputs };
    const execution = executionOf({ ...made, trigger_id, project, status: "complete" });
    await store.committer.commit(saveExecution(execution));
    names.set(id, `${name} ${age}`).set(execution.id, `${name} ${age}`);
  }
  return names;
}

Deno.test("records are kept for the retention of their trigger, else of their project, else of the service", async (t) => {
  await using service = await startService();
  const directory = `${service.folder}/project`;
  const putProject = (retention?: object) =>
    service.api("PUT", "projects/other/", { directory, ...(retention && { retention }) });
  await putProject();
  const a = await service.trigger({ name: "a" });
  const b = await service.trigger({ name: "b", project: "other" });
  const gone = await service.trigger({ name: "gone", project: "other" });
  const names = new Map([
    ...await storeRuns(service, a.id, "files", "a"),
    ...await storeRuns(service, b.id, "other", "b"),
    ...await storeRuns(service, gone.id, "other", "gone"),
  ]);
  await service.api("DELETE", `triggers/${gone.id}/`);

  const look = async (query = "") => {
    const { status, body } = await service.api("GET", `retention/?${query}`);
    assertEquals(status, 200, JSON.stringify(body));
    return body;
  };
  /** The names of the runs, and of the executions, that a look lists. */
  const listed = async (query = "") => {
    const { complete, kinds } = await look(query);
    assert(complete);
    const [runs, executions] = ["runs", "executions"].map((wanted) => {
      const found = kinds.find(({ kind }: { kind: string }) => kind === wanted);
      assertEquals(found.count, found.records.length);
      return found.records.map(({ id }: { id: string }) => names.get(id)).sort();
    });
    assertEquals(runs, executions);
    return runs;
  };

  const OLD = ["a old", "b old", "gone old"];
  const cases: {
    name: string;
    trigger?: object | null;
    project?: object;
    query?: string;
    past: string[];
  }[] = [
    { name: "the service's alone", past: OLD },
    {
      name: "a trigger's",
      trigger: { records: "7d" },
      past: ["a old", "a week", "b old", "gone old"],
    },
    {
      name: "a project's, also for its deleted trigger",
      project: { records: "1d" },
      past: ["a old", "b old", "b week", "gone old", "gone week"],
    },
    { name: "a longer one", project: { records: "90d" }, past: ["a old"] },
    {
      name: "one that is tried for a trigger",
      query: "trigger=a&records=1h",
      past: ["a fresh", "a old", "a week"],
    },
    {
      name: "one that is tried for a project",
      query: "project=other&records=3d",
      past: ["b old", "b week", "gone old", "gone week"],
    },
    { name: "a longer one that is tried", query: "project=other&records=100d", past: [] },
    {
      name: "one that is tried for the service, where a project has its own",
      project: { records: "90d" },
      query: "records=7d",
      past: ["a old", "a week"],
    },
    { name: "the records of one trigger", query: "trigger=b", past: ["b old"] },
    { name: "the records of a deleted trigger", query: "trigger=gone", past: ["gone old"] },
    { name: "the records of one project", query: "project=files", past: ["a old"] },
  ];
  for (const { name, trigger = null, project, query, past } of cases) {
    await t.step(name, async () => {
      assertEquals((await putProject(project)).status, 200);
      const patch = { retention: trigger };
      assertEquals((await service.api("PATCH", `triggers/${a.id}/`, patch)).status, 200);
      assertEquals(await listed(query), past);
    });
  }

  const wrong: [value: unknown, detail: RegExp][] = [
    [{ records: "30m" }, /Expected 1h to 3650d/],
    [{ records: "3651d" }, /Expected 1h to 3650d/],
    [{ records: "a week" }, /Expected a time such as 12h or 90d/],
    [{ records: 7 }, /records/],
    [{ records: "7d", pictures: "1d" }, /pictures/],
    [{ payloads: "59m" }, /Expected 1h to 3650d/],
    [{}, /at least one of records, payloads, logs and outputs/],
    ["7d", /retention/],
  ];
  for (const [retention, detail] of wrong) {
    await t.step(`refused: ${JSON.stringify(retention)}`, async () => {
      for (
        const [method, path, body] of [
          ["PATCH", `triggers/${a.id}/`, { retention }],
          ["PUT", "projects/other/", { directory, retention }],
        ] as const
      ) {
        const answer = await service.api(method, path, body);
        assertEquals(answer.status, 422);
        assertMatch(JSON.stringify(answer.body), detail);
      }
    });
  }
  await t.step("a time that is tried is checked, too", async () => {
    assertEquals((await service.api("GET", "retention/?records=1m")).status, 422);
    assertEquals((await service.api("GET", "retention/?trigger=none")).status, 422);
  });

  await t.step(
    "counts, bytes and the oldest, by kind; the command line and the console show them",
    async () => {
      await putProject();
      const { kinds, retention_days } = await look("trigger=a&records=7d&limit=1");
      const [runs] = kinds;
      assertEquals([retention_days, runs.kind, runs.count, runs.records.length], [
        30,
        "runs",
        2,
        1,
      ]);
      assert(runs.bytes > 2 * SIZE && runs.records[0].bytes > SIZE, JSON.stringify(runs));
      assertEquals(runs.oldest, runs.records[0].created_at);
      assertEquals(names.get(runs.records[0].id), "a old");
      const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
      const run = async (...args: string[]) => {
        const all = [
          "retention",
          "--trigger",
          "a",
          "--records",
          "7d",
          "--url",
          service.url,
          ...args,
        ];
        const { code, printed } = await runHosted(all, env);
        assertEquals(code, 0, printed);
        return printed;
      };
      assertMatch(
        await run(),
        /^KIND +COUNT +BYTES +OLDEST\nruns +2 +\d+ +20\S+Z\npipelines +0 +0\n/,
      );
      assertMatch(await run("--which"), new RegExp(`runs +${runs.records[0].id} +${a.id} `));
      assertEquals(JSON.parse(await run("--json")).kinds[0].count, 2);
      const browser = await loggedIn(service);
      const text = textOf(await browser.get("retention?trigger=a&records=7d"));
      assertMatch(text, / runs 2 \d\.\d KiB 40 d ago /);
      const refused = await browser.get("retention?records=1m");
      assertEquals(refused.status, 422);
      assertStringIncludes(textOf(refused), "Expected 1h to 3650d");
    },
  );

  await t.step("cleanup removes what was listed, and nothing else", async () => {
    await putProject({ records: "1d" });
    await service.api("PATCH", `triggers/${a.id}/`, { retention: { records: "90d" } });
    const past = await listed();
    assertEquals(past, ["b old", "b week", "gone old", "gone week"]);
    const { runs, executions, unlisted } = await service.service.cleanUp();
    assertEquals({ runs, executions, unlisted }, { runs: 4, executions: 4, unlisted: 4 });
    const left = async (path: string) =>
      (await service.api("GET", path)).body.results
        .map(({ id }: { id: string }) => names.get(id)).sort();
    const kept = ["a fresh", "a old", "a week", "b fresh", "gone fresh"];
    assertEquals(await left("runs/"), kept);
    assertEquals(await left("executions/"), kept);
    assertEquals(await left(`triggers/${a.id}/runs/`), ["a fresh", "a old", "a week"]);
    assertEquals(await listed(), []);
  });

  await t.step("a longer one saves what has not been removed yet", async () => {
    await service.api("PATCH", `triggers/${a.id}/`, { retention: null });
    assertEquals(await listed(), ["a old"]);
    await service.api("PATCH", `triggers/${a.id}/`, { retention: { records: "50d" } });
    assertEquals((await service.service.cleanUp()).runs, 0);
  });
});

Deno.test("payloads, logs and outputs go after a time of their own, and their records stay", async (t) => {
  let ahead_ms = 0;
  const clock = { ...systemClock, now: () => Date.now() + ahead_ms };
  await using service = await startService({ clock });
  const files = { step: { name: "it", image: "debian", command: PRINT_AND_SAVE } };
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify([files]));
  const KINDS = ["payloads", "logs", "outputs"] as const;
  const made = await Promise.all(KINDS.map(async (kind) => {
    const trigger = await service.trigger({
      name: kind,
      response: { type: "text", text: "{run_id}" },
      retention: { [kind]: "1h" },
      actions: [{ type: "run_execution", step: "it" }],
    });
    const body = SENT.repeat(kind === "payloads" ? 1_000 : 1);
    const runId = await (await fetch(trigger.url, { method: "POST", body })).text();
    const executionId = (await endOfRun(service, runId)).actions[0].created.execution_id;
    await endOfExecution(service, executionId);
    return { kind, runId, executionId };
  }));
  const get = (path: string) => fetch(`${service.url}/api/v0/${path}`, { headers: AUTHORIZED });
  const partsOf = ({ runId, executionId }: typeof made[number]) => ({
    payloads: `runs/${runId}/payload/`,
    logs: `executions/${executionId}/log/`,
    outputs: `executions/${executionId}/outputs/saved`,
  });
  const past = async () => {
    const { body: { kinds } } = await service.api("GET", "retention/");
    return kinds.flatMap(({ kind, count, records: [first] }: LookedAt) =>
      count === 0 ? [] : [[kind, count, first?.id]]
    );
  };
  const expected = made.map(({ kind, runId, executionId }) => [
    kind,
    1,
    kind === "payloads" ? runId : executionId,
  ]);

  assertEquals(await past(), []);
  assertEquals((await service.service.cleanUp()).payloads, 0);
  ahead_ms = 2 * HOUR_MS;
  await t.step("they are listed before", async () => assertEquals(await past(), expected));
  const { runs, executions, payloads, logs, outputs } = await service.service.cleanUp();
  assertEquals({ runs, executions, payloads, logs, outputs }, {
    runs: 0,
    executions: 0,
    payloads: 1,
    logs: 1,
    outputs: 1,
  });
  const browser = await loggedIn(service);
  for (const each of made) {
    await t.step(`${each.kind} are gone, and nothing else is`, async () => {
      for (const [kind, path] of Object.entries(partsOf(each))) {
        const answer = await get(path);
        const text = await answer.text();
        assertEquals(answer.status, kind === each.kind ? 410 : 200, `${path}: ${text}`);
        assertStringIncludes(text, kind === each.kind ? "removed at 20" : SENT.slice(0, 4));
      }
      const page = each.kind === "payloads"
        ? `deliveries/${each.runId}`
        : `executions/${each.executionId}`;
      const shown = await browser.get(page);
      assertEquals(shown.status, 200);
      assertMatch(textOf(shown), /Removed .* as the retention says/);
    });
  }
  await t.step("what is gone is not listed, and not removed again", async () => {
    assertEquals(await past(), []);
    assertEquals((await service.service.cleanUp()).logs, 0);
  });
  await t.step("a delivery without its payload is replayed with another body alone", async () => {
    const [{ runId } = { runId: "" }] = made;
    const again = await service.api("POST", `deliveries/${runId}/replay/`);
    assertEquals(again.status, 410, JSON.stringify(again.body));
    const body = new TextEncoder().encode("other").toBase64();
    const replayed = await service.api("POST", `deliveries/${runId}/replay/`, { body });
    assertEquals(replayed.status, 201);
    const { actions: [action] } = await endOfRun(service, replayed.body.id);
    await endOfExecution(service, action.created.execution_id);
  });
  await t.step("the records go with theirs", async () => {
    ahead_ms = 31 * 24 * HOUR_MS;
    const { runs, executions } = await service.service.cleanUp();
    assertEquals({ runs, executions }, { runs: 4, executions: 4 });
  });
});
