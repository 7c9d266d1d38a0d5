/** The page of work elsewhere: its examples drive servers that answer as each system documents its API. */
import { assertEquals } from "@std/assert";
import { eventually, startService } from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { systemActions } from "./systems.ts";

const RUN = "manual__2026-01-31T00:00:00+00:00";
const FLOW = "5d1b1c1e-9f0b-4a57-9f0e-1f3a2b4c5d6e";

interface System {
  /** The heading of its section. */
  name: string;
  /** Path and answer of what starts the work. */
  start: [path: string, status: number, answer: unknown];
  /** Path and answers of what tells how far it is. */
  state?: [path: string, ...answers: unknown[]];
  /** The request that starts the work: a header with the secret, and the body. */
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
    name: "Airflow",
    start: ["/api/v2/dags/retrain/dagRuns", 200, { dag_run_id: RUN, state: "queued" }],
    state: [
      `/api/v2/dags/retrain/dagRuns/${encodeURIComponent(RUN)}`,
      { dag_run_id: RUN, state: "running" },
      { dag_run_id: RUN, state: "success" },
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
];

Deno.test("the examples of systems start their work and see its end", async (t) => {
  await using receiver = startReceiver();
  const env = { GITHUB_TOKEN: "a-secret", GITLAB_TOKEN: "a-secret", AIRFLOW_TOKEN: "a-secret" };
  await using service = await startService({ env });
  for (
    const { name, start: [path, status, begun], state, sent: [header, value, body] } of systems
  ) {
    await t.step(name, async () => {
      receiver.on(path, () => new Response(begun ? JSON.stringify(begun) : null, { status }));
      const [statePath, ...answers] = state ?? [""];
      receiver.on(statePath, (_, { length }) => Response.json(answers[length - 1]));
      const { url } = await service.trigger({
        actions: systemActions(name, receiver.port),
        response: { type: "text", text: "{run_id}" },
      });
      const request = JSON.stringify({ after: "c0ffee", event: "push" });
      const run = await (await fetch(url, { method: "POST", body: request })).text();
      const ended = await eventually(async () => {
        const { body } = await service.api("GET", `deliveries/${run}/`);
        const [found] = body.sent ?? [];
        return ["complete", "error"].includes(found?.status) ? found : undefined;
      });
      assertEquals(ended.status, "complete", JSON.stringify(ended));
      const [first] = receiver.at(path);
      assertEquals([first?.headers.get(header), first?.body.replace(run, "RUN")], [value, body]);
      assertEquals(receiver.at(statePath).length, answers.length);
    });
  }
});
