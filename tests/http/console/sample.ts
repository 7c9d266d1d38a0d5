/**
 * A service with what an owner of some weeks has: triggers of several providers, deliveries that were accepted,
 * filtered, repeated and refused, runs that completed and failed.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import { endOfExecution, endOfRun, eventually, type TestService } from "../../data.ts";

const GITHUB_SECRET = "a-secret-of-github-for-samples";
const STRIPE_SECRET = "whsec_a-secret-of-stripe-for-samples";

const PROJECT = `
- step:
    name: retrain
    image: debian
    command:
      - printf '\\033[1mTraining\\033[0m on \\033[36m2 files\\033[0m\\n'
      - echo '{"epoch":1,"accuracy":0.61,"loss":0.9}'
      - echo "learning rate lowered" >&2
      - echo '{"epoch":2,"accuracy":0.74,"loss":0.52}'
      - echo '{"epoch":3,"accuracy":0.81,"loss":0.44}'
      - printf '\\033[32mDone\\033[0m in 3 epochs\\n'
      - cp "$VH_INPUTS_DIR"/labels/* "$VH_OUTPUTS_DIR/"
    inputs:
      - name: labels
- step:
    name: export
    image: debian
    command: echo "no such bucket" >&2; exit 3
    inputs:
      - name: labels
- step:
    name: split
    image: debian
    command: touch "$VH_OUTPUTS_DIR/train.csv" "$VH_OUTPUTS_DIR/test.csv"
- step:
    name: fit
    image: debian
    command: touch "$VH_OUTPUTS_DIR/model.txt"
    inputs:
      - name: data
        optional: true
- pipeline:
    name: Train and deploy
    nodes:
      - { name: split, type: execution, step: split }
      - { name: fit large, type: execution, step: fit }
      - { name: fit small, type: execution, step: fit }
      - name: compare
        type: execution
        step: fit
      - name: deploy
        type: execution
        step: fit
        actions:
          - { when: node-starting, then: require-approval }
    edges:
      - [split.output.train.csv, fit large.input.data]
      - [split.output.train.csv, fit small.input.data]
      - [fit large.output.model.txt, compare.input.data]
      - [fit small.output.model.txt, compare.input.data]
      - [compare.output.model.txt, deploy.input.data]
`;

/** The triggers of a sample, by name. */
export interface Sample {
  triggers: Record<"retrain" | "payments" | "labels", { id: string; url: string }>;
  /** Ids of deliveries, by what came of them. */
  deliveries: Record<"completed" | "failed" | "refused", string>;
  /** Ids of executions, by their ends. */
  executions: Record<"completed" | "failed", string>;
  /** The id of a pipeline whose last node waits for approval. */
  pipeline: string;
}

/** Fills a service. */
export async function fillSample(service: TestService): Promise<Sample> {
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, PROJECT);
  const action = (step: string) => ({
    type: "run_execution",
    step,
    payload_input_name: "labels",
  });
  const response = { type: "text", text: "{run_id}" };
  const retrain = await service.trigger({
    name: "retrain",
    keep_refused: "24h",
    filtered: { status: 200 },
    conditions: [
      { type: "hmac", preset: "github", secrets: [GITHUB_SECRET] },
      { type: "payload_filter", expression: 'body.ref == "refs/heads/main"' },
      { type: "deduplication", in: "header", name: "X-GitHub-Delivery", window: 3600 },
      { type: "rate_limit", quota: 1_000, period: 3_600 },
    ],
    actions: [action("retrain")],
    response,
  });
  const payments = await service.trigger({
    name: "payments",
    conditions: [
      { type: "hmac", preset: "stripe", secrets: [STRIPE_SECRET] },
      { type: "rate_limit", quota: 100, period: 60 },
    ],
    actions: [{ ...action("export"), retry: { attempts: 2, first: 0, exit_codes: [3] } }],
    response,
  });
  const labels = await service.trigger({ name: "labels", actions: [action("retrain")], response });

  const completed = await push(retrain.url, "main", "1");
  await push(retrain.url, "main", "1");
  await push(retrain.url, "feature", "2");
  await send(retrain.url, '{"ref":"refs/heads/main"}', {
    "x-hub-signature-256": `sha256=${"0".repeat(64)}`,
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    "x-github-event": "push",
    "user-agent": "GitHub-Hookshot/044aadd",
  });
  const failed = await charge(payments.url, "ch_1");
  await send(payments.url, '{"type":"charge.succeeded"}', { "stripe-signature": "t=1,v1=00" });
  await send(payments.url, "{}", {});
  await send(labels.url, '{"task":17,"labels":["cat","dog"]}', {});
  const nightly = await service.trigger({
    name: "nightly",
    actions: [{ type: "run_pipeline", pipeline: "Train and deploy" }],
    response,
  });
  const { actions: [{ created }] } = await endOfRun(service, await send(nightly.url, "{}", {}));
  const warnings = await service.api("GET", `attention/?group=setup&trigger=${nightly.id}`);
  for (const { id } of warnings.body.results) {
    const reason = "Only the timer on our own network calls it";
    await service.api("PUT", `triggers/${nightly.id}/warnings/${id}/dismissal/`, { reason });
  }
  const executions = {
    completed: await ended(service, completed),
    failed: await ended(service, failed),
  };
  await eventually(async () => {
    const { body: { nodes } } = await service.api("GET", `pipelines/${created.pipeline_id}/`);
    return nodes.at(-1).status === "awaiting_approval" ? true : undefined;
  }, { within_ms: 30_000 });
  const { body } = await service.api("GET", "deliveries/?trigger=retrain&outcome=refused");
  const [{ id: refused }] = body.results;
  return {
    triggers: { retrain, payments, labels },
    deliveries: { completed, failed, refused },
    executions,
    pipeline: created.pipeline_id,
  };
}

/**
 * Adds notifiers to a filled service, and what they have told: one message that arrived, one that did not, and one
 * with a cause that is tried again.
 */
export async function fillNotifications(service: TestService, sample: Sample): Promise<string> {
  const { triggers: { labels, payments } } = sample;
  const put = (name: string, settings: object) =>
    service.api("PUT", `notifiers/${name}/`, settings);
  // A trigger of the service itself takes what is told.
  const sign = { secret: `whsec_${btoa("a key of samples, 32 bytes long.")}` };
  const to = { type: "webhook", url: labels.url, private_networks: true, sign };
  await put("owners", { on: ["silent", "recovered"], silent: "24h", projects: ["files"], to });
  // No request leaves: this address is not public.
  await put("ops", {
    on: ["run_error", "execution_error", "pipeline_error", "engine_unreachable", "recovered"],
    triggers: ["payments", "retrain"],
    to: { type: "slack", url: "http://127.0.0.1:1/services/T0/B0" },
  });
  for (const name of ["owners", "ops"]) {
    const { body: { id } } = await service.api("POST", `notifiers/${name}/test/`);
    await eventually(async () => {
      const { body } = await service.api("GET", `notifications/${id}/`);
      return body.status !== "pending" || undefined;
    }, { what: `the end of a test of ${name}` });
  }
  await ended(service, await charge(payments.url, "ch_2"));
  return await eventually(async () => {
    const { body } = await service.api("GET", "notifications/?notifier=ops&status=pending");
    return body.results.find(({ reason }: { reason?: string }) => reason !== undefined)?.id;
  }, { what: "a message that is tried again" });
}

/** Sends what GitHub sends for a push. */
export function push(url: string, branch: string, delivery: string): Promise<string> {
  const body = JSON.stringify({
    ref: `refs/heads/${branch}`,
    repository: { full_name: "octo/digits", private: false },
    head_commit: { id: "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d", message: "Add labels" },
  });
  return send(url, body, {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${hmac(GITHUB_SECRET, body)}`,
    "x-github-delivery": delivery,
    "x-github-event": "push",
    "user-agent": "GitHub-Hookshot/044aadd",
  });
}

function charge(url: string, id: string): Promise<string> {
  const body = JSON.stringify({ id, type: "charge.succeeded", data: { amount: 1_200 } });
  const time_s = Math.floor(Date.now() / 1_000);
  return send(url, body, {
    "content-type": "application/json",
    "stripe-signature": `t=${time_s},v1=${hmac(STRIPE_SECRET, `${time_s}.${body}`)}`,
  });
}

function hmac(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

async function send(url: string, body: string, headers: Record<string, string>): Promise<string> {
  return await (await fetch(url, { method: "POST", body, headers })).text();
}

/** Waits for the execution of a run, and returns its id. */
async function ended(service: TestService, runId: string): Promise<string> {
  const { actions: [{ created }] } = await endOfRun(service, runId);
  await endOfExecution(service, created.execution_id);
  return created.execution_id;
}

/** The addresses of every kind of page of a filled service, by names. */
export function pagesOf({ deliveries, executions, pipeline }: Sample): Record<string, string> {
  return {
    overview: "",
    attention: "attention",
    deliveries: "deliveries",
    filtered: "deliveries?trigger=retrain&outcome=refused",
    found: "deliveries?text=nothing",
    completed: `deliveries/${deliveries.completed}`,
    failed: `deliveries/${deliveries.failed}`,
    refused: `deliveries/${deliveries.refused}`,
    triggers: "triggers",
    trigger: "triggers/retrain",
    trigger_warned: "triggers/labels",
    trigger_dismissed: "triggers/nightly",
    trigger_new: "triggers/new",
    trigger_edit: "triggers/retrain/edit",
    executions: "executions",
    execution: `executions/${executions.completed}`,
    execution_failed: `executions/${executions.failed}`,
    executions_dead: "executions?dead=true",
    pipelines: "pipelines",
    pipeline: `pipelines/${pipeline}`,
    projects: "projects",
    project: "projects/files",
    engines: "engines",
    instances: "instances",
    notifications: "notifications",
    notifications_found: "notifications?notifier=ops&status=failed",
    access: "access",
    settings: "settings",
    retention: "retention",
    retention_tried: "retention?records=1h",
    replays: "replays",
    replay: "replays/new?trigger=retrain",
    docs: "docs/pipelines/",
    missing: "deliveries/none",
  };
}
