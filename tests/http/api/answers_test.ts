/** What is answered, by a real service, held against what the description says of it. */
import { assert, assertEquals } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import { putPasskey } from "../../../src/store/records/passkeys.ts";
import { type Notification, notificationWrites } from "../../../src/store/records/notifications.ts";
import { endWrites, type Run } from "../../../src/store/records/runs.ts";
import { launchScheduled } from "../../../src/triggers/schedule_launch.ts";
import {
  endOfExecution,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  temporaryFolder,
  type TestService,
} from "../../data.ts";
import { GitFixture } from "../../projects/code/git_fixture.ts";
import { startReceiver } from "../receiver.ts";
import { browserOf, PROVIDER, storePerson } from "../../logins/person.ts";
import { loggedIn } from "../console/fixture.ts";
import { Described, type Json } from "./described.ts";
import { AUTHORIZED, storeExecution } from "./fixture.ts";

const CONFIG = `
- step:
    name: train
    image: debian
    command: |
      cp "$VH_INPUTS_DIR"/labels/* "$VH_OUTPUTS_DIR/model.json"
      echo '{"accuracy": 0.5, "note": null}'
      echo {parameter-value:epochs} >&2
    inputs: [{ name: labels }]
    parameters: [{ name: epochs, type: integer, default: 3 }, { name: tags, type: string, multiple: repeat, default: [a, b] }]
    environment-variables: [{ name: MODE, default: quick }]
    time-limit: 60
    no-output-timeout: 60
    stop-condition: accuracy > 0.9
    autorestart: true
    resources: { cpu: { max: 1.5 }, memory: { max: 512 } }
- step:
    name: away
    image: debian
    command: "true"
    inputs: [{ name: data, default: "https://someone:password@127.0.0.1:1/x" }]
    environment-variables:
      - { name: TOKEN, default: "{secret:token}" }
      - { name: KEY, default: "{secret-file:token}" }
- step: { name: slow, image: debian, command: sleep 30 }
- step: { name: fail, image: debian, command: exit 3 }
- pipeline:
    name: Both
    parameters: [{ name: epochs, targets: [first.parameters.epochs], default: 4 }]
    nodes:
      - { name: first, type: execution, step: train }
      - name: last
        type: execution
        step: train
        actions: [{ when: node-starting, then: require-approval }]
    edges: [[first.output.*, last.input.labels]]
- pipeline:
    name: Failing
    nodes:
      - { name: first, type: execution, step: fail }
      - { name: last, type: execution, step: slow }
    edges: [[first.dependency.*, last.dependency.*]]
`;

const LAUNCHED = { response: { type: "text", text: "{run_id}" } };

/** Launches a trigger, and answers its run when that has ended. */
async function launch(described: Described, service: TestService, trigger_id: string, body = "{}") {
  const headers = {
    "content-type": "application/json",
    "x-github-delivery": "72d3162e",
    "x-too-long": "x".repeat(5_000),
    ...signature(body),
  };
  const path = "/launch/{trigger_id}/";
  const sent = { method: "POST", at: { trigger_id }, query: "?ref=main", headers, body };
  const id = await described.ask(path, sent);
  await endOfRun(service, id);
  return await described.ask("/runs/{id}/", { at: { id } });
}

/** @param to the folder of its backups */
async function start(to: string): Promise<TestService> {
  const keep = { hourly: 1, daily: 1, weekly: 1 };
  const service = await startService({ settings: { backup: { to, every_ms: 3_600_000, keep } } });
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, CONFIG);
  return service;
}

function endOfPipeline(described: Described, id: string) {
  return eventually(async () => {
    const pipeline = await described.ask("/pipelines/{id}/", { at: { id } });
    return pipeline.ended_at === undefined ? undefined : pipeline;
  });
}

Deno.test("every answer is what the description says, and nothing beside it", async (t) => {
  await using backups = await temporaryFolder();
  await using service = await start(backups.path);
  const described = await Described.of(service);
  const ask = described.ask.bind(described);

  await t.step("projects", async () => {
    const { path } = await GitFixture.make(`${service.folder}/git`, { "valohai.yaml": CONFIG });
    const project = {
      name: "git",
      repository: path,
      engine: { type: "local", disk_mb: 100, inputs: { folders: ["/x"], max_mb: 1 } },
      retention: { records: "90d" },
    };
    const at = { name: "git" };
    await ask("/projects/", { method: "POST", body: project, query: "?dry_run" });
    await ask("/projects/", { method: "POST", body: project, status: 201 });
    await ask("/projects/{name}/", { method: "PUT", at, body: project });
    await ask("/projects/{name}/", { at });
    const { branches } = await ask("/projects/{name}/fetch/", { method: "POST", at, status: 201 });
    assertEquals(Object.keys(branches), ["main"]);
    await ask("/projects/{name}/contents/", { at });
    const secret = { name: "git", secret: "token" };
    const secrets = "/projects/{name}/secrets/";
    const value = { value: "a-secret-of-the-test", branches: ["main"] };
    const put = { method: "PUT", at: secret };
    await ask(`${secrets}{secret}/`, { ...put, body: value, status: 201 });
    await ask(`${secrets}{secret}/`, { ...put, body: { value: "{env:NOT_SET}" } });
    await ask(secrets, { at });
    await ask("/projects/{name}/", { at });
    await ask(`${secrets}{secret}/`, { method: "DELETE", at: secret, status: 204 });
    await ask("/projects/{name}/", { method: "DELETE", at, status: 204 });
    await ask("/projects/{name}/", { method: "PUT", at, body: project, status: 201 });
    const remote = { name: "ssh", repository: "git@127.0.0.1:x.git", deploy_key: "/key" };
    await ask("/projects/", { method: "POST", body: remote, status: 201 });
    const hosted = {
      name: "hosted",
      repository: "https://git.example.com/acme/digits.git",
      source: "gitea",
      api_url: "https://git.example.com/api/v1",
      config: CONFIG,
    };
    await ask("/projects/", { method: "POST", body: hosted, status: 201 });
    await ask("/projects/{name}/", { method: "DELETE", at: { name: "hosted" }, status: 204 });
    const { next } = await ask("/projects/", { query: "?limit=1" });
    assertEquals(new URL(next).searchParams.get("cursor"), "files");
  });

  await t.step("a trigger with every kind of condition", async () => {
    const body = {
      name: "full",
      project: "files",
      max_payload: "1MiB",
      filtered: { status: 202 },
      refused: { authentication: 401, rate_limit: 429 },
      handshakes: [
        { preset: "meta", secret: "d-secret-of-the-test" },
        {
          method: "POST",
          when: "query.check == 'x'",
          verified: true,
          response: { type: "text", text: "{query.a}", headers: { "X-A": "b" }, status: 202 },
        },
      ],
      keep_refused: "24h",
      retention: { records: "90d" },
      conditions: [
        { type: "ip_allowlist", ranges: ["127.0.0.0/8"] },
        {
          type: "static_token",
          in: "header",
          name: "X-Token",
          secrets: ["{env:UNSET}", "a-secret-of-the-test"],
        },
        {
          ...HMAC_CONDITION,
          secrets: ["b-secret-of-the-test", {
            secret: "a-literal-of-the-test",
            until: "2099-01-01T00:00:00Z",
          }],
        },
        { type: "signature", preset: "discord", public_keys: ["0a".repeat(32)] },
        { type: "jwt", in: "query", name: "t", algorithms: ["HS256"], secrets: ["a".repeat(32)] },
        { type: "timestamp", in: "header", name: "X-T", format: "unix_s", tolerance: 300 },
        { type: "payload_filter", expression: "body.a == 1" },
        { type: "deduplication", in: "header", name: "X-Id" },
        { type: "rate_limit", period: 60, quota: 1 },
      ],
      actions: [
        {
          type: "run_execution",
          step: "train",
          parameters: { tags: [1, { a: null }] },
          title: "t",
        },
        { type: "fetch_repository" },
      ],
      response: { type: "json", json: { deep: [{ run: "{run_id}" }] }, status: 202 },
    };
    await ask("/triggers/", { method: "POST", body, query: "?dry_run" });
    const { id, warnings } = await ask("/triggers/", { method: "POST", body, status: 201 });
    assert(warnings.length > 0);
    const at = { id };
    await ask("/triggers/{id}/", { at });
    await ask("/triggers/{id}/", { method: "PUT", at, body, query: "?file=hooklaunch.yaml" });
    const moved = { enabled: false, project: "ssh" };
    await ask("/triggers/{id}/", { method: "PATCH", at, body: moved });
    await ask("/triggers/", { query: "?activity" });
    await ask("/triggers/{id}/quotas/", { at });
    await ask("/triggers/{id}/secrets/", { at });
    const tried = { body: '{"a":2}', headers: { "X-Id": "1" } };
    const said = await ask("/triggers/{id}/test/", { method: "POST", at, body: tried });
    assert(said.conditions.some((each: Json) => each.expected && each.found && each.reason));
    const { handshakes } = await ask("/triggers/{id}/handshakes/", { method: "POST", at });
    assert(handshakes.length > 0);
    const signed = await ask("/triggers/{id}/sign/", { method: "POST", at, body: tried });
    assert(signed.notes.length > 0 && signed.problems.length > 0);
    const filter = { type: "payload_filter", expression: "body.b == 1" };
    const onRequest = { method: "POST", body: { filter, requests: [tried] } };
    const { results: [verdict] } = await ask("/triggers/{id}/try-filter/", { ...onRequest, at });
    assert(verdict.reason && verdict.expected && verdict.position);
    await ask("/try-filter/", onRequest);
    await ask("/triggers/{id}/try-actions/", {
      method: "POST",
      at,
      body: { requests: [tried] },
    });
    const refused = { headers: { "X-Id": "1" }, body: "e30=" };
    const { findings } = await ask("/triggers/{id}/diagnose/", {
      method: "POST",
      at,
      body: refused,
    });
    assert(findings.some((each: Json) => each.certainty === "likely" && each.index === 1));
    await ask("/triggers/{id}/", { method: "DELETE", at, status: 204 });
  });

  await t.step("a delivery whose token was taken out of its body", async () => {
    const token = "a-token-in-the-body-of-it";
    const condition = { type: "static_token", in: "body", name: "t", redact: true };
    const { id, url } = await service.trigger({
      conditions: [{ ...condition, secrets: [token] }],
      handshakes: [{ preset: "meta", secret: "what-meta-verifies" }],
      refused: { authentication: 401, rate_limit: 429, filter: 200 },
      ...LAUNCHED,
    });
    const body = JSON.stringify({ t: token });
    const run = await (await fetch(url, { method: "POST", body })).text();
    await ask("/triggers/{id}/", { at: { id } });
    const read = await ask("/runs/{id}/", { at: { id: run } });
    assertEquals([read.request.masked, read.request.redacted], [["/t"], true]);
    for (const path of ["/deliveries/{id}/", "/deliveries/"]) {
      const shown = await ask(
        path,
        path.includes("id") ? { at: { id: run } } : { query: "?limit=1" },
      );
      assertEquals((shown.results?.[0] ?? shown).redacted, true);
    }
  });

  const ids: Record<string, string> = {};
  await t.step(
    "a run with objects and a failed action, replayed, and its trigger's log",
    async () => {
      const { id: trigger_id } = await service.trigger({
        conditions: [HMAC_CONDITION],
        actions: [
          { type: "run_execution", step: "train", payload_input_name: "labels" },
          { type: "run_pipeline", pipeline: "Both", payload_input_name: "first.labels" },
          { type: "run_execution", step: "trian" },
          { type: "fetch_repository" },
        ],
        ...LAUNCHED,
      });
      const first = await launch(described, service, trigger_id);
      const [{ created: { execution_id } }, { created: { pipeline_id } }, { error }] =
        first.actions;
      assertEquals(first.status, "complete_with_error");
      assert(error && first.ended_at && first.payload.content_type);
      Object.assign(ids, { run: first.id, execution: execution_id, pipeline: pipeline_id });
      const run_id = first.id;
      const info = "/launch/{trigger_id}/run/";
      const asked = JSON.stringify({ run_id });
      const headers = { "content-type": "application/json", ...signature(asked) };
      await ask(info, { method: "POST", at: { trigger_id }, headers, body: asked });
      await ask(info, { at: { trigger_id }, query: `?run_id=${run_id}`, status: 400 });
      await ask(info, { method: "POST", at: { trigger_id }, body: asked, status: 400 });
      // More than 60 of them in one minute, should another one begin meanwhile.
      await ask("/launch/{trigger_id}/", { method: "POST", at: { trigger_id }, status: 400 });
      const flood = Array.from({ length: 121 }, async () => {
        const url = `${service.url}/api/v0/launch/${trigger_id}/`;
        await (await fetch(url, { method: "POST" })).body?.cancel();
      });
      await Promise.all(flood);
      const at = { id: run_id };
      await ask("/runs/{id}/replay/", { method: "POST", at, status: 201 });
      assertEquals(await ask("/runs/{id}/payload/", { at }), "{}");
      const { results } = await ask("/triggers/{id}/runs/", { at: { id: trigger_id } });
      assertEquals(results[0].replay_of, run_id);
      await endOfRun(service, results[0].id);
      ids.trigger = trigger_id;
      const filter = { type: "payload_filter", expression: "true" };
      const { results: [verdict] } = await ask("/triggers/{id}/try-filter/", {
        method: "POST",
        at: { id: trigger_id },
        body: { filter },
      });
      assertEquals([verdict.delivery_id, verdict.outcome], [run_id, "accepted"]);
      const { results: [on] } = await ask("/triggers/{id}/try-actions/", {
        method: "POST",
        at: { id: trigger_id },
        body: {},
      });
      assertEquals([on.delivery_id, on.outcome], [run_id, "accepted"]);
      await ask("/triggers/{id}/infer-schema/", {
        method: "POST",
        at: { id: trigger_id },
        body: {},
      });
    },
  );

  await t.step("run info by GET, and a launch that is answered in JSON", async () => {
    const { id: trigger_id } = await service.trigger({
      actions: [{ type: "run_execution", step: "away" }, { type: "run_execution", step: "slow" }],
    });
    const at = { trigger_id };
    assertEquals(await ask("/launch/{trigger_id}/", { method: "POST", at }), {
      status: "accepted",
    });
    const { results: [{ id: run_id }] } = await ask("/triggers/{id}/runs/", {
      at: { id: trigger_id },
    });
    const query = `?run_id=${run_id}&wait=20`;
    const { result } = await ask("/launch/{trigger_id}/run/", { at, query });
    const { work } = await ask("/launch/{trigger_id}/run/", {
      at,
      query: `?run_id=${run_id}&work=true`,
    });
    assertEquals(work, "running");
    Object.assign(ids, { away: result[0].execution_id, slow: result[1].execution_id });
  });

  await t.step("executions: with outputs, failed, stopped", async () => {
    await endOfExecution(service, ids.execution ?? "");
    const at = { id: ids.execution ?? "" };
    const execution = await ask("/executions/{id}/", { at });
    assertEquals([execution.status, execution.outputs.length], ["complete", 1], execution.reason);
    const log = "/executions/{id}/log/";
    const { next, cursor } = await ask(log, { at, query: "?limit=1" });
    assert(next !== null && cursor !== "0");
    assertEquals((await ask(log, { at })).next, null);
    await ask(log, { at, headers: { accept: "text/plain" } });
    assert((await ask(log, { at, query: "?follow" })).includes("event: end"));
    await ask(log, { at, query: "?follow", headers: { "last-event-id": "end" }, status: 204 });
    const output = "/executions/{id}/outputs/{path}";
    const file = { at: { ...at, path: "model.json" } };
    assertEquals(await ask(output, file), "{}");
    const headers = { "if-none-match": "*" };
    await ask(output, { ...file, headers, status: 304 });
    const stopped = { id: ids.slow ?? "" };
    await ask("/executions/{id}/stop/", { method: "POST", at: stopped, status: 202 });
    await endOfExecution(service, stopped.id);
    assertEquals((await ask("/executions/{id}/", { at: stopped })).status, "stopped");
    await endOfExecution(service, ids.away ?? "");
    const { inputs } = await ask("/executions/{id}/", { at: { id: ids.away ?? "" } });
    assertEquals(inputs.data[0].url, "https://********@127.0.0.1:1/x");
  });

  await t.step("pipelines: approved, copied, stopped, failed", async () => {
    const at = { id: ids.pipeline ?? "" };
    const approve = { method: "POST", at, body: { node: "last" } };
    await eventually(async () => {
      const { nodes: [, last] } = await ask("/pipelines/{id}/", { at });
      return last.status === "awaiting_approval" || undefined;
    });
    await ask("/pipelines/{id}/approve/", { ...approve, status: 202 });
    const pipeline = await endOfPipeline(described, at.id);
    assertEquals(pipeline.status, "complete", pipeline.reason);
    assertEquals([pipeline.edges.length, pipeline.parameters.epochs], [1, 4]);
    const { nodes: [, { execution_id }] } = pipeline;
    const { inputs } = await ask("/executions/{id}/", { at: { id: execution_id } });
    assert(inputs.labels[0].output_of);
    const { id } = await service.trigger({
      conditions: [HMAC_CONDITION],
      actions: [
        { type: "copy_pipeline", source_pipeline: at.id },
        { type: "run_pipeline", pipeline: "Failing" },
      ],
      ...LAUNCHED,
    });
    const { actions: [copied, failing] } = await launch(described, service, id);
    const copy = { id: copied.created.pipeline_id };
    await ask("/pipelines/{id}/stop/", { method: "POST", at: copy, status: 202 });
    const { copy_of, reason } = await endOfPipeline(described, copy.id);
    assert(copy_of && reason);
    const retried = await ask("/pipelines/{id}/retry/", { method: "POST", at: copy, status: 201 });
    await ask("/pipelines/{id}/stop/", { method: "POST", at: { id: retried.id }, status: 202 });
    const again = await ask("/pipelines/{id}/copy/", { method: "POST", at: copy, status: 201 });
    await ask("/pipelines/{id}/stop/", { method: "POST", at: { id: again.id }, status: 202 });
    const { nodes } = await endOfPipeline(described, failing.created.pipeline_id);
    assertEquals(nodes.map(({ status }: Json) => status), ["error", "skipped"]);
    const { projectFailures, engines } = service.service.parts;
    projectFailures.note("files", "file", new Error("no steps"));
    const outage = { since: new Date().toISOString(), detail: "refused", projects: ["files"] };
    Object.defineProperty(engines.of("slurm"), "outages", { value: [outage] });
    assertEquals((await ask("/failures/")).results.length, 2);
    await ask("/pipelines/");
    const { next } = await ask("/pipelines/", { query: "?limit=1" });
    assert(next);
    await ask("/executions/", { query: "?status=error" });
    // What other engines tell of their executions.
    const stored = await storeExecution(service.service.parts.store, {
      waiting: "Unschedulable",
      machine: "node-1",
      reachable: false,
      mounts: [{ source: "/data", destination: "/mnt", readonly: true }],
      // What retention has taken from it.
      log_removed_at: "2026-01-01T00:00:00.000Z",
      outputs_removed_at: "2026-01-01T00:00:00.000Z",
    });
    await ask("/executions/{id}/", { at: { id: stored } });
    const time = "2026-01-01T00:00:00.000Z";
    const tried = { started_at: time, ended_at: time, status: "error", exit_code: 75 } as const;
    const dead = await storeExecution(service.service.parts.store, {
      retry: { attempts: 2, first: 30, factor: 2, exit_codes: "*" },
      attempt: 2,
      attempts: [1, 2].map((attempt) => ({ ...tried, attempt, execution_id: stored })),
      retry_at: time,
      ...tried,
    });
    assertEquals((await ask("/executions/{id}/", { at: { id: dead } })).dead, true);
    await ask("/runs/", { query: "?limit=2" });
  });

  await t.step("replays", async () => {
    const filter = { from: "2026-01-01T00:00:00Z" };
    await ask("/replays/", { method: "POST", body: { filter, dry_run: true } });
    const body = { filter, rate: 1_000, commit: "none", body: btoa("a") };
    const gone = await service.trigger({ name: "gone" });
    await (await fetch(gone.url, { method: "POST" })).body?.cancel();
    await service.api("DELETE", `triggers/${gone.id}/`);
    const { id } = await ask("/replays/", { method: "POST", body, status: 201 });
    await ask("/replays/");
    await eventually(async () => {
      const { body: { state } } = await service.api("GET", `replays/${id}/`);
      return state !== "running" || undefined;
    }, { what: "the end of the replay" });
    await ask("/replays/{id}/", { at: { id } });
    const { results } = await ask("/replays/{id}/results/", { at: { id } });
    const { after, differences } = results.find((each: Json) => each.after);
    assert(differences.length > 0);
    await ask("/runs/{id}/", { at: { id: after.id } });
    await ask("/replays/{id}/stop/", { method: "POST", at: { id } });
  });

  await t.step("tokens", async () => {
    const limits = { triggers: ["retrain"], projects: ["digits"] };
    const body = { name: "ci", ...limits, expires_at: "2100-01-01T00:00:00Z" };
    const { id, token } = await ask("/tokens/", { method: "POST", body, status: 201 });
    await ask("/triggers/", { headers: { authorization: `Bearer ${token}` } });
    // Its use is stored beside the answer.
    await eventually(async () => {
      const { results } = await ask("/tokens/");
      return results.some((each: Json) => each.last_used_at) || undefined;
    });
    await ask("/tokens/{id}/", { method: "DELETE", at: { id }, status: 204 });
    await ask("/audit/");
    await ask("/instances/");
  });

  await t.step("people who have logged in at an identity provider", async () => {
    const person = await storePerson(service);
    const browser = await browserOf(service, person);
    const made = { csrf: await browser.csrf(), name: "made-by-ada", scope: "read" };
    assertEquals((await browser.post("access/tokens", made)).status, 200);
    const { results: [entry] } = await ask("/audit/");
    assertEquals(entry.author.name, "ada@example.com");
    const { results: [session] } = await ask("/sessions/");
    assertEquals([session.token, session.issuer], ["ada@example.com", PROVIDER.issuer]);
    await ask("/login-providers/");
    const form = { method: "POST" };
    const begun = await ask("/login/device/", { ...form, body: { device: "a-computer" } });
    await ask("/login/device/", { ...form, body: { scope: "root" }, status: 400 });
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const wanted = { ...form, body: { grant_type, device_code: begun.device_code } };
    await ask("/login/token/", { ...wanted, status: 400 });
    const decided = { csrf: await browser.csrf(), code: begun.user_code, decision: "confirm" };
    assertEquals((await browser.post("access/device", decided)).status, 303);
    const { access_token } = await ask("/login/token/", wanted);
    const { results } = await ask("/tokens/");
    assert(results.some((each: Json) => each.by_login && each.name.endsWith("on a-computer")));
    await ask("/login/revoke/", { ...form, body: { token: access_token } });
    await ask("/sessions/{id}/", { method: "DELETE", at: { id: session.id }, status: 204 });
    await putPasskey(service.service.parts.store, {
      credential: "a-credential",
      name: "laptop",
      owner: "ada@example.com",
      public_key: "",
      counter: 0,
      transports: [],
      created_at: new Date().toISOString(),
      last_used_at: new Date().toISOString(),
      used: [],
      person,
    });
    const { results: [passkey] } = await ask("/passkeys/");
    await ask("/passkeys/{id}/", { method: "DELETE", at: { id: passkey.id }, status: 204 });
  });

  await t.step("the console's sessions, the service, and a trigger's last 24 hours", async () => {
    await loggedIn(service);
    const { results: [{ id }] } = await ask("/sessions/");
    await ask("/sessions/{id}/", { method: "DELETE", at: { id }, status: 204 });
    await ask("/service/");
    // What the second one is answered tells of the first.
    for (const _ of [1, 2]) {
      await ask("/backups/", { method: "POST", status: 202 });
      await eventually(async () => {
        const { backup } = await ask("/service/");
        return backup.working ? undefined : true;
      });
    }
    const { results: [backup] } = await ask("/backups/");
    assertEquals(backup.state, "proven");
    service.service.parts.reload = () =>
      Promise.resolve([{ what: "certificate", outcome: "kept", detail: "it is none" }]);
    await ask("/service/reload/", { method: "POST" });
    const fails = '- step: { name: fails, image: debian, command: "exit 1" }\n';
    await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, CONFIG + fails);
    const { id: failing, url } = await service.trigger({
      actions: [{ type: "run_execution", step: "fails" }],
    });
    await (await fetch(url, { method: "POST" })).body?.cancel();
    await eventually(async () => {
      const { hours } = await ask("/triggers/{id}/activity/", { at: { id: failing } });
      return hours.at(-1).failed_executions ? true : undefined;
    });
  });

  await t.step("what is past its retention", async () => {
    const created_at = "2020-01-01T00:00:00Z";
    const run: Run = {
      id: newId(Date.parse(created_at)),
      trigger_id: newId(0),
      project: "files",
      status: "completed",
      created_at,
      remote_ip: "192.0.2.7",
      payload: { size: 0, sha256: "0".repeat(64) },
      actions: [],
    };
    await service.service.parts.store.committer.write(endWrites(run));
    const { kinds } = await ask("/retention/", { query: "?records=10d" });
    assertEquals(kinds[0].records.map(({ id }: Json) => id), [run.id]);
    await service.service.cleanUp();
    assertEquals((await ask("/retention/")).kinds[0].count, 0);
  });

  await t.step("what needs attention, and dismissed warnings", async () => {
    const query = "?group=setup";
    const { results: [{ id: warning, subject: { id } }] } = await ask("/attention/", { query });
    assert((await ask("/attention/", { query: "?limit=1" })).next);
    const settings = { name: "dismisses" };
    const made = await ask("/tokens/", { method: "POST", body: settings, status: 201 });
    const headers = { authorization: `Bearer ${made.token}` };
    const path = "/triggers/{id}/warnings/{warning}/dismissal/";
    const at = { id, warning };
    await ask(path, { method: "PUT", at, headers, body: { reason: "Meant to be so" } });
    const dismissed = await ask("/attention/", { query: `${query}&dismissed` });
    assertEquals(dismissed.results.map(({ id }: Json) => id), [warning]);
    await ask(path, { method: "DELETE", at, status: 204 });
  });

  await t.step("what is no JSON, and errors", async () => {
    for (const path of ["/docs/", "/metrics", "/healthz", "/readyz", "/openapi.json"]) {
      assert(await ask(path));
    }
    await ask("/triggers/", { method: "POST", body: {}, status: 422 });
    await ask("/tokens/", { headers: { authorization: "" }, status: 401 });
  });

  await t.step("deliveries", async () => {
    // What was omitted is in the page of the minute that it came in.
    const { next } = await ask("/deliveries/", { query: "?limit=1" });
    assert(next);
    const { results: [refused] } = await ask("/deliveries/", {
      query: "?limit=200&outcome=refused",
    });
    const { results: [replay] } = await ask("/deliveries/", {
      query: `?trigger=${ids.trigger}&outcome=accepted`,
    });
    const head = new AbortController();
    const stream = await fetch(`${service.url}/api/v0/deliveries/?follow`, {
      headers: AUTHORIZED,
      signal: head.signal,
    });
    described.seen.add(`GET /deliveries/ ${stream.status} ${stream.headers.get("content-type")}`);
    const listened = await fetch(`${service.url}/api/v0/triggers/${ids.trigger}/listen/`, {
      method: "POST",
      headers: AUTHORIZED,
      signal: head.signal,
    });
    described.seen.add(
      `POST /triggers/{id}/listen/ ${listened.status} ${listened.headers.get("content-type")}`,
    );
    head.abort();
    for (const id of [refused.id, replay.id, ids.run ?? ""]) {
      await ask("/deliveries/{id}/", { at: { id } });
    }
    const keeps = await service.trigger({ conditions: [HMAC_CONDITION], keep_refused: "1h" });
    await ask("/launch/{trigger_id}/", {
      method: "POST",
      at: { trigger_id: keeps.id },
      status: 400,
    });
    const { results: [{ id }] } = await ask("/deliveries/", { query: `?trigger=${keeps.id}` });
    await eventually(async () => {
      const { kept_until } = await ask("/deliveries/{id}/", { at: { id } });
      return kept_until;
    });
    const again = "/deliveries/{id}/replay/";
    const delivered = { id: ids.run ?? "" };
    await ask(again, { method: "POST", at: { id }, status: 409 });
    await ask(again, { method: "POST", at: delivered, body: { commit: "none" }, status: 201 });
    await ask("/deliveries/{id}/", { at: delivered });
  });

  await t.step("callbacks", async () => {
    const callback = { url: "{body.callback_url}", allow: ["https://*.example.com/"] };
    const { id: trigger_id } = await service.trigger({ ...LAUNCHED, callback });
    await ask("/triggers/{id}/", { at: { id: trigger_id } });
    const id = await ask("/launch/{trigger_id}/", { method: "POST", at: { trigger_id } });
    const [sent] = await eventually(async () => {
      return (await ask("/deliveries/{id}/", { at: { id } })).sent;
    });
    await ask("/runs/{id}/", { at: { id } });
    await ask("/http-requests/{id}/", { at: { id: sent.id } });
  });

  await t.step("runs that wait for their turn", async () => {
    const launch = async (settings: object) => {
      const { id: trigger_id } = await service.trigger({ ...LAUNCHED, ...settings });
      await ask("/triggers/{id}/", { at: { id: trigger_id } });
      const again = () => ask("/launch/{trigger_id}/", { method: "POST", at: { trigger_id } });
      const ended = async (id: string) => {
        await eventually(async () => (await ask("/runs/{id}/", { at: { id } })).ended_at);
        await ask("/launch/{trigger_id}/run/", { at: { trigger_id }, query: `?run_id=${id}` });
      };
      return { id: await again(), again, ended };
    };
    const burst = await launch({ coalesce: { window: 3_600 } });
    const newest = await burst.again();
    await burst.ended(burst.id);
    await ask("/runs/{id}/launch/", { method: "POST", at: { id: newest } });
    const delayed = await launch({ delay: 3_600 });
    const at = { id: delayed.id };
    await ask("/runs/{id}/", { at });
    await ask("/runs/{id}/stop/", { method: "POST", at });
    await ask("/runs/{id}/stop/", { method: "POST", at, status: 409 });
    const slow = { type: "run_execution", step: "slow" };
    const busy = await launch({ concurrency: { when_full: "refuse" }, actions: [slow] });
    await busy.ended(await busy.again());
    const queued = await launch({ concurrency: {}, actions: [slow] });
    const second = await queued.again();
    await ask("/runs/{id}/", { at: { id: second } });
    await ask("/runs/{id}/stop/", { method: "POST", at: { id: second } });
    for (const { id } of [busy, queued]) {
      const executionId = await eventually(async () => {
        const { executions: [execution] } = await ask("/deliveries/{id}/", { at: { id } });
        return execution?.id;
      });
      await service.api("POST", `executions/${executionId}/stop/`);
      await eventually(async () => {
        const { body } = await service.api("GET", `executions/${executionId}/`);
        return body.ended_at;
      });
    }
  });

  await t.step("HTTP requests of actions", async () => {
    await using receiver = startReceiver();
    receiver.on("/busy", () => new Response("x".repeat(100_000), { status: 503 }));
    receiver.on("/begins", () => new Response("begun"));
    const sends = async (path: string, settings: object) => {
      const { id } = await service.trigger({
        ...LAUNCHED,
        actions: [{
          type: "http_request",
          url: `http://127.0.0.1:${receiver.port}${path}`,
          private_networks: true,
          ...settings,
        }],
      });
      const run = await ask("/launch/{trigger_id}/", { method: "POST", at: { trigger_id: id } });
      await receiver.arrived(path, 1);
      return run;
    };
    const settled = (run: string) =>
      eventually(async () => {
        const { sent: [request] } = await ask("/deliveries/{id}/", { at: { id: run } });
        return request.answer && await ask("/http-requests/{id}/", { at: { id: request.id } });
      });
    const { id } = await settled(await sends("/busy", { retry: { first: 600 } }));
    const { status, cut } = await ask("/http-requests/{id}/stop/", {
      method: "POST",
      at: { id },
      status: 202,
    });
    assertEquals([status, cut], ["stopped", undefined]);
    const waits = { body: "{callback_url}", wait: "callback" };
    const waiting = await settled(await sends("/begins", waits));
    const [, own = "", token = ""] = /callbacks\/([^/]+)\/([^/]+)\//.exec(
      receiver.at("/begins")[0]?.body ?? "",
    ) ?? [];
    assertEquals(own, waiting.id);
    const called = { method: "POST", at: { id: own, token }, body: "done" };
    await ask("/callbacks/{id}/{token}/", called);
    await ask("/callbacks/{id}/{token}/", { ...called, status: 410 });
    const { result } = await ask("/http-requests/{id}/", { at: { id: own } });
    assertEquals(atob(result.body), "done");
  });

  await t.step("notifiers, and what they have told", async () => {
    await using receiver = startReceiver();
    receiver.on("/told", () => new Response());
    const at = { name: "ops" };
    const to = (path: string) => ({
      type: "webhook",
      url: `http://127.0.0.1:${receiver.port}${path}`,
      private_networks: true,
      sign: { secret: "a-literal-of-the-tests" },
    });
    const rules = {
      on: ["run_error", "silent", "refused", "recovered"],
      triggers: ["nobody"],
      silent: "1h",
      quiet: ["sat"],
      refused: { above: "10%" },
      group: "5m",
      title: "{title}",
      text: "{text}",
      include: ["payload"],
    };
    const put = { method: "PUT", at, body: { ...rules, to: to("/nothing") } };
    await ask("/notifiers/{name}/", { ...put, status: 201 });
    const test = async () => {
      const { id } = await ask("/notifiers/{name}/test/", { method: "POST", at, status: 202 });
      return await eventually(async () => {
        const found = await ask("/notifications/{id}/", { at: { id } });
        return found.status === "pending" ? undefined : found;
      });
    };
    assertEquals((await test()).status, "failed");
    assert((await ask("/notifiers/{name}/", { at })).failing_since);
    const { triggers: _, ...others } = rules;
    const other = { ...others, projects: ["files"], to: { type: "slack", url: "{env:NOT_SET}" } };
    const { warnings } = await ask("/notifiers/{name}/", { ...put, body: other });
    assertEquals(warnings.length, 1);
    await ask("/notifiers/{name}/", { ...put, body: { ...rules, to: to("/told") } });
    for (const type of ["mattermost", "discord", "teams"]) {
      const body = { on: ["run_error"], to: { type, url: "https://chat.example.com/x" } };
      await ask("/notifiers/{name}/", { method: "PUT", at: { name: type }, body, status: 201 });
    }
    const ntfy = { type: "ntfy", topic: "ops", token: "a-literal-of-the-tests" };
    const body = { on: ["run_error"], to: ntfy };
    await ask("/notifiers/{name}/", { method: "PUT", at: { name: "ntfy" }, body, status: 201 });
    const mail = {
      type: "email",
      host: "mail.example.com",
      port: 587,
      user: "hooks",
      password: "a-literal-of-the-tests",
      from: "hooks@example.com",
      to: ["ops@example.com"],
    };
    const byMail = { on: ["run_error"], to: mail };
    await ask("/notifiers/{name}/", {
      method: "PUT",
      at: { name: "mail" },
      body: byMail,
      status: 201,
    });
    for (const type of ["github_status", "gitlab_status", "gitea_status"]) {
      const own = { repository: "acme/digits", sha: "{body.sha}", context: "train" };
      const host = { type, url: "https://git.example.com/", token: "a-literal-of-the-tests" };
      const body = { triggers: ["none"], to: { ...host, ...own } };
      await ask("/notifiers/{name}/", { method: "PUT", at: { name: type }, body, status: 201 });
    }
    await ask("/notifiers/");
    const sent = await test();
    const again = { method: "POST", at: { id: sent.id }, status: 202 };
    assert((await ask("/notifications/{id}/resend/", again)).resend_of);
    const { store } = service.service.parts;
    const time = new Date().toISOString();
    const cause = {
      id: "0123456789ab",
      code: "execution_error",
      state: "recovered" as const,
      subject: { kind: "trigger", name: "x", id: newId(0), project: "files" },
      since: time,
      ended_at: time,
      count: 2,
      text: "x",
      advice: "x",
      url: "http://127.0.0.1/",
      run_id: newId(0),
      execution_id: newId(0),
      pipeline_id: newId(0),
      payload: "{}",
    };
    const whole: Notification = {
      ...sent,
      id: newId(Date.now()),
      next_at: time,
      causes: [cause],
      more: 1,
      commit: {
        repository: "acme/digits",
        sha: "5".repeat(40),
        context: "train",
        state: "pending",
        run_id: newId(0),
        since: time,
        url: "http://127.0.0.1/",
      },
    };
    await store.committer.write(notificationWrites(whole));
    await ask("/notifications/", { query: "?notifier=ops" });
    await ask("/notifiers/{name}/", { method: "DELETE", at, status: 204 });
  });

  await t.step("schedules", async () => {
    const { id: scheduled } = await service.trigger({
      actions: [{ type: "fetch_repository" }],
      schedule: [{ cron: "@yearly" }],
    });
    const { results: coming } = await ask("/triggers/{id}/schedule/", { at: { id: scheduled } });
    assert(coming.length > 0);
    await ask("/triggers/{id}/schedule/run/", {
      method: "POST",
      at: { id: scheduled },
      body: {},
      status: 201,
    });
    const at = { id: scheduled };
    assert((await ask("/triggers/{id}/", { at })).schedule);
    const { parts } = service.service;
    const prepared = await parts.triggers.prepared(scheduled);
    assert(prepared);
    // As the schedule does at its time.
    const launching = { ...parts, baseUrl: () => parts.baseUrl };
    const made = await launchScheduled(launching, prepared, {}, {
      schedule: { time_ms: Date.now() },
      launchedBy: { kind: "schedule" },
    });
    assert("run" in made);
    const run_id = made.run.id;
    await endOfRun(service, run_id);
    await ask("/runs/{id}/", { at: { id: run_id } });
    await ask("/deliveries/{id}/", { at: { id: run_id } });
    await ask("/deliveries/", { query: `?trigger=${scheduled}` });
    const info = { at: { trigger_id: scheduled }, query: `?run_id=${run_id}` };
    assertEquals((await ask("/launch/{trigger_id}/run/", info)).source, "schedule");
  });

  await t.step("a trigger's log", async () => {
    const path = "/triggers/{id}/log/";
    const at = { id: ids.trigger ?? "" };
    await ask(path, { at });
    // What was left out of a minute is counted when the service stops, at the latest.
    await service.restart();
    const { results } = await (await Described.of(service)).ask(path, { at, query: "?limit=200" });
    const kinds = new Set(results.map(({ kind }: Json) => kind));
    assertEquals([...kinds].sort(), ["action_failed", "omitted", "refused"]);
    assert(results.some((each: Json) => each.expected && each.condition_index === 0));
  });

  await t.step("that was all there is", () => {
    assertEquals([...described.seen].toSorted(), described.all().toSorted());
    // The one is there while a pipeline ends, the others after a long search: they are seen by chance.
    const chance = / ending$|^DeliveryPage scanned_to$|^ReplayDryRun has_more$/;
    assertEquals(described.unseen().filter((each) => !chance.test(each)), []);
  });
});
