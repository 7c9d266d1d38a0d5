/** The page of work elsewhere: its examples drive servers that answer as each system documents its API. */
import { assertEquals } from "@std/assert";
import { eventually, startService } from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { systemActions } from "./systems.ts";

const RUN = "manual__2026-01-31T00:00:00+00:00";
const BUILD = "b60cfd6b-9d0b-402e-930b-7ac11ccf7162";
const FLOW = "5d1b1c1e-9f0b-4a57-9f0e-1f3a2b4c5d6e";

interface System {
  /** The heading of its section. */
  name: string;
  /** Path and answer of what starts the work. */
  start: [path: string, status: number, answer: unknown];
  /** Path and answers of what tells how far it is. */
  state?: [path: string, ...answers: unknown[]];
  /** The body by which the work calls back. */
  callback?: string;
  /** The request that starts the work: a header, such as the one with the secret, and the body. */
  sent: [header: string, value: string, body: string];
}

const systems: System[] = [
  {
    name: "Work elsewhere",
    start: ["/repos/acme/models/dispatches", 204, undefined],
    sent: [
      "authorization",
      "Bearer a-secret",
      '{"event_type":"retrain","client_payload":{"commit":"c0ffee","run":"RUN"}}',
    ],
  },
  {
    name: "GitLab CI",
    start: ["/api/v4/projects/42/pipeline", 201, { id: 46, status: "created", ref: "main" }],
    state: ["/api/v4/projects/42/pipelines/46", { status: "running" }, { status: "success" }],
    sent: [
      "private-token",
      "a-secret",
      '{"ref":"main","variables":[{"key":"EVENT","value":"push"}]}',
    ],
  },
  {
    // As Gitea 1.26.0 has answered.
    name: "Gitea",
    start: [
      "/api/v1/repos/acme/models/actions/workflows/retrain.yaml/dispatches",
      200,
      { workflow_run_id: 7, run_url: "http://x/api/v1/repos/acme/models/actions/runs/7" },
    ],
    state: [
      "/api/v1/repos/acme/models/actions/runs/7",
      { id: 7, event: "workflow_dispatch", status: "queued" },
      { id: 7, event: "workflow_dispatch", status: "in_progress" },
      { id: 7, event: "workflow_dispatch", status: "completed", conclusion: "success" },
    ],
    sent: ["authorization", "token a-secret", '{"ref":"main","inputs":{"commit":"c0ffee"}}'],
  },
  {
    name: "Jenkins",
    start: ["/job/retrain/buildWithParameters", 201, undefined],
    callback: '{"ok": true}',
    sent: ["authorization", "Basic a-secret", "COMMIT=c0ffee&CALLBACK=URL"],
  },
  {
    // As Airflow 3.3.2 has answered.
    name: "Airflow",
    start: ["/api/v2/dags/retrain/dagRuns", 200, {
      dag_run_id: RUN,
      dag_id: "retrain",
      logical_date: null,
      start_date: null,
      run_type: "manual",
      state: "queued",
      conf: { commit: "c0ffee" },
    }],
    state: [
      `/api/v2/dags/retrain/dagRuns/${encodeURIComponent(RUN)}`,
      { dag_run_id: RUN, dag_id: "retrain", end_date: null, duration: null, state: "running" },
      { dag_run_id: RUN, dag_id: "retrain", duration: 5.941267, state: "success" },
    ],
    sent: [
      "authorization",
      "Bearer a-secret",
      '{"logical_date":null,"conf":{"commit":"c0ffee"}}',
    ],
  },
  {
    // As Prefect 3.9.1 has answered.
    name: "Prefect",
    start: [
      "/api/deployments/1b5f0f5e-5b5b-4a5b-8f7e-3e2a7d9f1c11/create_flow_run",
      201,
      {
        id: FLOW,
        parameters: { commit: "c0ffee" },
        state_type: "SCHEDULED",
        state: { type: "SCHEDULED", name: "Scheduled", message: null, data: null },
      },
    ],
    state: [
      `/api/flow_runs/${FLOW}`,
      { id: FLOW, state_type: "PENDING", state: { type: "PENDING", name: "Pending" } },
      { id: FLOW, state_type: "RUNNING", state: { type: "RUNNING", name: "Running" } },
      {
        id: FLOW,
        state_type: "COMPLETED",
        state: { type: "COMPLETED", name: "Completed", message: null, data: null },
      },
    ],
    sent: [
      "content-type",
      "application/json",
      '{"parameters":{"commit":"c0ffee"},"idempotency_key":"RUN"}',
    ],
  },
  {
    // As Dagster 1.13.28 has answered.
    name: "Dagster",
    start: ["/graphql", 200, {
      data: { launchRun: { __typename: "LaunchRunSuccess", run: { runId: BUILD } } },
    }],
    state: [
      `/graphql?query={%20runOrError(runId:%20%22${BUILD}%22)%20{%20...%20on%20Run%20{%20status%20}%20}%20}`,
      ...["QUEUED", "STARTING", "STARTED", "SUCCESS"].map((status) => ({
        data: { runOrError: { status } },
      })),
    ],
    sent: [
      "content-type",
      "application/json",
      '{"query":"mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename ... on ' +
      'LaunchRunSuccess { run { runId } } } }","variables":{"params":{"selector":{"repositoryLocationName":"models",' +
      '"repositoryName":"__repository__","jobName":"retrain"},"runConfigData":{"ops":{"train":{"config":' +
      '{"commit":"c0ffee"}}}},"executionMetadata":{"tags":[{"key":"hooklaunch/run","value":"RUN"}]}}}}',
    ],
  },
];

const TOKENS = ["GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "JENKINS_BASIC", "AIRFLOW_TOKEN"];

Deno.test("the examples of systems start their work and see its end", async (t) => {
  await using receiver = startReceiver();
  const env = Object.fromEntries(TOKENS.map((name) => [name, "a-secret"]));
  await using service = await startService({ env });
  const launch = async (actions: Record<string, unknown>[]) => {
    const { url } = await service.trigger({
      actions,
      response: { type: "text", text: "{run_id}" },
    });
    const request = JSON.stringify({ after: "c0ffee", event: "push" });
    return await (await fetch(url, { method: "POST", body: request })).text();
  };
  const reached = (run: string, ...wanted: string[]) =>
    eventually(async () => {
      const { body } = await service.api("GET", `deliveries/${run}/`);
      const [found] = body.sent ?? [];
      return wanted.includes(found?.status) ? found : undefined;
    }, { what: wanted.join(" or ") });
  /** Plays a system, and launches its work. */
  const begin = async ({ name, start: [path, status, begun], state = [""] }: System) => {
    const [target, ...answers] = state;
    const [statePath = ""] = target.split("?");
    const polls: string[] = [];
    for (const each of new Set([path, statePath])) {
      receiver.on(each, (received) => {
        if (received.method === "POST") {
          return new Response(begun ? JSON.stringify(begun) : null, { status });
        }
        polls.push(received.target);
        return Response.json(answers[polls.length - 1]);
      });
    }
    return { polls, run: await launch(systemActions(name, receiver.port)) };
  };
  // All at once: each waits for its next poll.
  const works = await Promise.all(systems.map(async (one) => ({ ...one, ...await begin(one) })));
  await using other = startReceiver();
  other.on(
    "/graphql",
    () => Response.json({ data: { launchRun: { __typename: "PipelineNotFoundError" } } }),
  );
  const refused = await launch(systemActions("Dagster", other.port));

  for (const { name, start: [path], state = [""], callback, sent, run, polls } of works) {
    await t.step(name, async () => {
      const [first] = await receiver.arrived(path, 1);
      if (callback !== undefined) {
        await reached(run, "waiting");
        const [, url = ""] = /CALLBACK=(.*)/.exec(first?.body ?? "") ?? [];
        const answer = await fetch(decodeURIComponent(url), { method: "POST", body: callback });
        await answer.text();
        assertEquals(answer.status, 200);
      }
      const ended = await reached(run, "complete", "error");
      assertEquals(ended.status, "complete", JSON.stringify(ended));
      const [header, value, body] = sent;
      const bare = first?.body.replace(run, "RUN").replace(/CALLBACK=.*/, "CALLBACK=URL");
      assertEquals([first?.headers.get(header), bare], [value, body]);
      const [target, ...answers] = state;
      assertEquals(polls, answers.map(() => target));
    });
  }
  await t.step("Dagster does not know the job", async () => {
    assertEquals((await reached(refused, "complete", "error")).status, "error");
  });
});
