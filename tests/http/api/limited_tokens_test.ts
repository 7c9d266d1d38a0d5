/** Tokens that are limited to triggers or projects: what each operation lets them do, and what lists tell them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { SUBJECT_KINDS } from "../../../src/attention/cause.ts";
import { openCursor, visiblePage } from "../../../src/http/api/limited_lists.ts";
import { operations } from "../../../src/http/api/mod.ts";
import { Records } from "../../../src/http/api/records.ts";
import { SealedCursors } from "../../../src/http/api/sealed_cursors.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { newId } from "../../../src/platform/ids.ts";
import {
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../../data.ts";
import { type Grant, passkeyKey, putPasskey } from "../../../src/store/records/passkeys.ts";
import { createToken, tokenHash } from "../../../src/store/records/tokens.ts";
import { storePerson } from "../../logins/person.ts";
import { storeHttpRequest, storePipeline } from "./fixture.ts";

const ACTIONS = [{ type: "run_execution", step: "echo" }];

/** Makes a token; returns a function that sends a request with it. */
async function withToken(service: TestService, settings: Record<string, unknown>) {
  const { status, body: { token } } = await service.api("POST", "tokens/", settings);
  assertEquals(status, 201);
  return sender(service, token);
}

/** Makes the token of a login that rests on some grounds, as sessions do. */
async function withGrant(service: TestService, granted_by: Grant) {
  const created_at = new Date().toISOString();
  const made = { name: "login", created_at, granted_by };
  return sender(service, await createToken(service.service.parts.store, made));
}

function sender(service: TestService, token: string) {
  return async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${service.url}/api/v0/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json") ?? false;
    return { status: answer.status, text, body: isJson ? JSON.parse(text) : undefined };
  };
}

type Send = ReturnType<typeof sender>;

/** Ways to have the access of a limit: a token, a session or a passkey that rests on it, and a role of a person. */
async function waysIn(service: TestService, kind: string, limit: Record<string, string[]>) {
  const { store } = service.service.parts;
  const { body: { token } } = await service.api("POST", "tokens/", { name: kind, ...limit });
  const token_hash = tokenHash(token);
  const credential = `a passkey of ${kind}`;
  const created_at = new Date().toISOString();
  const used = { public_key: "", counter: 0, transports: [], used: [] };
  await putPasskey(store, {
    credential,
    name: "key",
    owner: "Ada",
    created_at,
    token_hash,
    ...used,
  });
  const person = await storePerson(service, { subject: kind, ...limit });
  const ways: [way: string, send: Send][] = [
    ["a token", sender(service, token)],
    ["a session", await withGrant(service, { token_hash })],
    ["a passkey", await withGrant(service, { token_hash, passkey: passkeyKey(credential) })],
    ["a role", await withGrant(service, { person })],
  ];
  return ways.map(([way, send]) => ({ kind, way, send }));
}

/**
 * Makes a project and a trigger of one name, and launches the trigger.
 *
 * @returns the ids of the records, by the first part of their paths
 */
async function fill(service: TestService, project: string): Promise<Record<string, string>> {
  const directory = `${service.folder}/project`;
  await service.api("PUT", `projects/${project}/`, { directory });
  const { id: triggers, url } = await service.trigger({
    name: project,
    project,
    actions: ACTIONS,
    response: { type: "text", text: "{run_id}" },
  });
  const run = await (await fetch(url, { method: "POST", body: "{}" })).text();
  const executions = await eventually(async () => {
    const { body: { results } } = await service.api("GET", `executions/?trigger=${project}`);
    return results[0]?.id;
  }, { what: "the execution" });
  const { id: pipelines } = await storePipeline(service.service.parts.store, {
    run_id: run,
    trigger_id: triggers,
    project,
  });
  const { id: request } = await storeHttpRequest(service.service.parts.store, {
    run_id: run,
    trigger_id: triggers,
    project,
  });
  return {
    triggers,
    projects: project,
    runs: run,
    deliveries: run,
    executions,
    pipelines,
    "http-requests": request,
  };
}

/**
 * The limited tokens that may use an operation on their own records: `t` is limited to a trigger, `p` to a project.
 * No operation gives them the records of others.
 */
const ALLOWED: Readonly<Record<string, string>> = {
  listTriggers: "tp",
  createTrigger: "p",
  getTrigger: "tp",
  replaceTrigger: "tp",
  patchTrigger: "tp",
  deleteTrigger: "tp",
  getTriggerActivity: "tp",
  listAttention: "tp",
  dismissWarning: "tp",
  restoreWarning: "tp",
  getTriggerQuotas: "tp",
  listTriggerSecrets: "tp",
  testTrigger: "tp",
  signRequest: "tp",
  tryTriggerFilter: "tp",
  tryTriggerActions: "tp",
  inferSchema: "tp",
  playHandshakes: "tp",
  tryFilter: "",
  diagnoseRequest: "tp",
  listTriggerLog: "tp",
  listTriggerRuns: "tp",
  listDeliveries: "tp",
  getDelivery: "tp",
  listenToTrigger: "tp",
  replayDelivery: "tp",
  listRuns: "tp",
  getRun: "tp",
  getRunPayload: "tp",
  replayRun: "tp",
  listOccurrences: "tp",
  runSchedule: "tp",
  launchWaitingRun: "tp",
  stopWaitingRun: "tp",
  createReplay: "",
  listReplays: "",
  getReplay: "",
  listReplayResults: "",
  stopReplay: "",
  listProjects: "tp",
  createProject: "",
  getProject: "p",
  putProject: "",
  deleteProject: "",
  fetchProject: "p",
  getProjectContents: "p",
  listProjectSecrets: "p",
  putProjectSecret: "",
  deleteProjectSecret: "",
  listExecutions: "tp",
  getExecution: "tp",
  stopExecution: "tp",
  getExecutionLog: "tp",
  getExecutionOutput: "tp",
  listPipelines: "tp",
  getPipeline: "tp",
  stopPipeline: "tp",
  copyPipeline: "tp",
  retryPipeline: "tp",
  approvePipeline: "tp",
  getHttpRequest: "tp",
  stopHttpRequest: "tp",
  listTokens: "",
  createToken: "",
  revokeToken: "",
  listSessions: "",
  endSession: "",
  listPasskeys: "",
  removePasskey: "",
  listLoginProviders: "",
  listAudit: "",
  getService: "",
  reloadService: "",
  listBackups: "",
  makeBackup: "",
  listNotifiers: "",
  getNotifier: "",
  putNotifier: "",
  deleteNotifier: "",
  testNotifier: "",
  listNotifications: "",
  getNotification: "",
  resendNotification: "",
  listFailures: "",
  lookAtRetention: "",
  listInstances: "",
};

Deno.test("each operation lets a limited token do what its limits allow, and no more", async (t) => {
  await using service = await startService();
  const mine = await fill(service, "mine");
  const others = await fill(service, "others");
  const all = [
    ...await waysIn(service, "t", { triggers: ["mine"] }),
    ...await waysIn(service, "p", { projects: ["mine"] }),
  ];
  assertEquals(operations.map(({ id }) => id).sort(), Object.keys(ALLOWED).sort());
  const isLast = ({ method }: { method: string }) => method === "delete";
  const ordered = operations.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)));
  for (const { id, method, path } of ordered) {
    const [, kind = ""] = path.split("/");
    const pathOf = (ids: Record<string, string>) =>
      path.replace(/\{(?:id|name)\}/, ids[kind] ?? newId(0)).replace(/\{(?:path|secret)\}/, "x")
        .slice(1);
    const bodyOf = (project: string) => {
      if (method === "get" || method === "delete") return undefined;
      return { name: project, project, actions: ACTIONS };
    };
    for (const { kind: limit, way, send } of all) {
      await t.step(`${id} with ${way} limited by ${limit}`, async () => {
        const own = await send(method.toUpperCase(), pathOf(mine), bodyOf("mine"));
        const isAllowed = ALLOWED[id]?.includes(limit) ?? false;
        assertEquals(own.status === 403, !isAllowed, `${own.status} ${own.text}`);
        const isList = method === "get" && !path.includes("{");
        if (isList) return Object.values(others).forEach((id) => assert(!own.text.includes(id)));
        const foreign = await send(method.toUpperCase(), pathOf(others), bodyOf("others"));
        assertEquals(foreign.status, 403, foreign.text);
      });
    }
  }
});

Deno.test("a limited token cannot bring its trigger into another project", async () => {
  await using service = await startService();
  const ids = await fill(service, "mine");
  await fill(service, "others");
  const byTrigger = await withToken(service, { name: "t", triggers: ["mine"] });
  const byProject = await withToken(service, { name: "p", projects: ["mine", "spare"] });
  const spare = { directory: `${service.folder}/project` };
  assertEquals((await service.api("PUT", "projects/spare/", spare)).status, 201);
  const path = `triggers/${ids.triggers}/`;
  const whole = { name: "mine", actions: ACTIONS };
  for (const send of [byTrigger, byProject]) {
    for (const project of ["others", "none"]) {
      assertEquals((await send("PATCH", path, { project })).status, 403);
      assertEquals((await send("PATCH", `${path}?dry_run`, { project })).status, 403);
      assertEquals((await send("PUT", path, { ...whole, project })).status, 403);
      assertEquals((await send("POST", "triggers/", { ...whole, name: "n", project })).status, 403);
    }
    assertEquals((await send("PUT", path, { ...whole, project: "mine" })).status, 200);
  }
  assertEquals((await byTrigger("PATCH", path, { project: "spare" })).status, 403);
  assertEquals((await byProject("PATCH", path, { project: "spare" })).status, 200);
  const made = await byProject("POST", "triggers/", { ...whole, name: "made", project: "spare" });
  assertEquals([made.status, made.body.project], [201, "spare"]);
  const byBoth = await withToken(service, { name: "b", triggers: ["mine"], projects: ["spare"] });
  const fresh = { ...whole, name: "fresh", project: "spare" };
  assertEquals((await byBoth("POST", "triggers/", fresh)).status, 403);
  const chosen = await byProject("POST", "triggers/", { ...fresh, id: crypto.randomUUID() });
  assertEquals(chosen.status, 403);
  assertMatch(chosen.body.detail, /it cannot choose the id of a trigger/);
});

Deno.test("a limited token lets no trigger read a secret of the service", async () => {
  await using service = await startService({ env: { OWN: "a-secret-of-the-trigger" } });
  const withSecrets = (...secrets: unknown[]) => ({
    name: "mine",
    project: "files",
    actions: ACTIONS,
    conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets }],
  });
  const { id } = await service.trigger(withSecrets("{env:OWN}"));
  const path = `triggers/${id}/`;
  const send = await withToken(service, { name: "p", projects: ["files"] });
  for (const secret of ["{env:HOOKLAUNCH_ADMIN_TOKEN}", "{file:/etc/hostname}"]) {
    for (const written of [secret, { name: "x", value: secret }]) {
      const trigger = withSecrets("{env:OWN}", written);
      const made = await send("POST", "triggers/", { ...trigger, name: "fresh" });
      assertEquals(made.status, 403, made.text);
      const { conditions } = trigger;
      const changed = await send("PATCH", path, { conditions });
      assertEquals(changed.status, 403, changed.text);
      assertMatch(changed.body.detail, /cannot let a trigger read \{(env|file):/);
    }
  }
  const kept = await send("PUT", path, withSecrets("{env:OWN}", "a-literal-of-the-token"));
  assertEquals(kept.status, 200, kept.text);
});

const OWN = "{env:OWN}";
const LITERAL = "a-literal-of-the-token";
const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: [OWN] };
const MAC = {
  type: "hmac",
  algorithm: "sha256",
  header: "X-Sig",
  secrets: [{ name: "first", value: "{env:MAC}" }],
};
const CHECK = { method: "GET", response: { type: "text", text: "ok" } };
const VERIFIED = { ...CHECK, when: "query.x == secret", secret: "{env:VERIFY}" };
const REFERRING = { conditions: [TOKEN, MAC], handshakes: [VERIFIED], actions: ACTIONS };

/** Changes of that trigger by a limited admin. */
const CHANGES: [what: string, patch: object, status: 200 | 403][] = [
  ["a handshake with the token", { handshakes: [VERIFIED, { ...VERIFIED, secret: OWN }] }, 403],
  ["a handshake that signs", {
    handshakes: [VERIFIED, {
      ...CHECK,
      secret: "{env:MAC}",
      response: { type: "text", text: "{hmac_sha256_hex(secret, query.x)}" },
    }],
  }, 403],
  ["another when", { handshakes: [{ ...VERIFIED, when: "query.x != secret" }] }, 403],
  ["a handshake less", { handshakes: [] }, 403],
  ["the token in the query", { conditions: [{ ...TOKEN, in: "query" }, MAC] }, 403],
  ["another header", { conditions: [{ ...TOKEN, name: "X-Other" }, MAC] }, 403],
  ["another content", { conditions: [TOKEN, { ...MAC, signed_content: "a{body}" }] }, 403],
  ["swapped", {
    conditions: [{ ...TOKEN, secrets: ["{env:MAC}"] }, { ...MAC, secrets: [OWN] }],
  }, 403],
  ["twice", { conditions: [TOKEN, TOKEN, MAC] }, 403],
  ["another secret in its place", { conditions: [{ ...TOKEN, secrets: [LITERAL] }, MAC] }, 403],
  ["no conditions", { conditions: [] }, 403],
  ["a variable of an action", {
    actions: [{ ...ACTIONS[0], environment: { A: `Bearer ${OWN}` } }],
  }, 403],
  ["a response", { response: { type: "text", text: OWN } }, 403],
  ["a header", { response: { type: "text", text: "", headers: { "x-a": OWN } } }, 403],
  ["a literal more", { conditions: [{ ...TOKEN, secrets: [OWN, LITERAL] }, MAC] }, 200],
  ["a name", {
    conditions: [{ ...TOKEN, secrets: [{ name: "own", value: OWN }] }, MAC],
  }, 200],
  ["another order", { conditions: [MAC, TOKEN] }, 200],
  ["a filter", {
    conditions: [TOKEN, { type: "payload_filter", expression: "query.a == '1'" }, MAC],
  }, 200],
  ["a handshake with a literal", {
    handshakes: [{ ...VERIFIED, secret: LITERAL }, VERIFIED],
  }, 200],
  ["an action", { actions: [...ACTIONS, ...ACTIONS] }, 200],
];

Deno.test("a limited token moves no variable of the service to where it could be told", async (t) => {
  const env = {
    OWN: "a-secret-of-the-trigger",
    MAC: "a-key-of-the-trigger",
    VERIFY: "a-word-of-it",
  };
  await using service = await startService({ env });
  const { id } = await service.trigger({ name: "mine", project: "files", ...REFERRING });
  const send = await withToken(service, { name: "p", projects: ["files"] });
  const path = `triggers/${id}/?dry_run`;
  const { body: shown } = await service.api("GET", `triggers/${id}/`);
  for (const [what, patch, expected] of CHANGES) {
    await t.step(what, async () => {
      for (
        const [method, written] of [["PATCH", patch], ["PUT", { ...shown, ...patch }]] as const
      ) {
        const { status, body, text } = await send(method, path, written);
        assertEquals(status, expected, text);
        if (status === 403) assertMatch(body.detail, /cannot let a trigger read \{env:/);
      }
    });
  }
});

const IN_BODY = { type: "static_token", in: "body", name: "/auth/token", secrets: [OWN] };
const filter = (expression: string) => ({ type: "payload_filter", expression });

/** Conditions and handshakes beside a credential, by a limited admin. */
const READERS: [what: string, patch: object, status: 200 | 403][] = [
  ["a filter on the token", { conditions: [filter("body.auth.token.startsWith('a')")] }, 403],
  ["a filter on what holds it", { conditions: [filter("size(string(body.auth)) > 1")] }, 403],
  ["a filter on the raw body", { conditions: [filter("raw.contains('a')")] }, 403],
  ["a filter on a header", { conditions: [filter("headers['x-token'] < 'm'")] }, 403],
  ["a filter on the query of a handshake", { conditions: [filter("query.x < 'm'")] }, 403],
  ["a list", {
    conditions: [{
      type: "payload_filter",
      any: [{ not: { path: "body.auth.token", op: "eq", value: "a" } }],
    }],
  }, 403],
  ["a key", { conditions: [{ type: "deduplication", key: "body.auth.token" }] }, 403],
  ["a schema", { conditions: [{ type: "json_schema", schema: { type: "object" } }] }, 403],
  ["a handshake", {
    handshakes: [{ ...CHECK, method: "POST", when: "body.auth.token < 'm'" }],
  }, 403],
  ["another field", { conditions: [filter("body.ref == 'main' && query.y == ''")] }, 200],
  ["a list on another", {
    conditions: [{ type: "payload_filter", all: [{ path: "body.auth.name", op: "exists" }] }],
  }, 200],
  ["a key of another", { conditions: [{ type: "deduplication", key: "body.id" }] }, 200],
  ["a handshake on another", {
    handshakes: [{ ...CHECK, method: "POST", when: "body.type == 'check'" }],
  }, 200],
];

Deno.test("a limited token lets no filter read a credential whose secret it may not see", async (t) => {
  const env = { OWN: "a-secret-of-the-trigger", VERIFY: "a-word-of-it-all" };
  await using service = await startService({ env });
  const held = { conditions: [TOKEN, IN_BODY], handshakes: [VERIFIED] };
  const { id } = await service.trigger({ name: "mine", project: "files", ...held });
  const send = await withToken(service, { name: "p", projects: ["files"] });
  const path = `triggers/${id}/`;
  const patchOf = (
    { conditions = [], handshakes = [] }: { conditions?: object[]; handshakes?: object[] },
  ) => ({
    conditions: [...held.conditions, ...conditions],
    handshakes: [...held.handshakes, ...handshakes],
  });
  for (const [what, more, expected] of READERS) {
    await t.step(what, async () => {
      const { status, text } = await send("PATCH", `${path}?dry_run`, patchOf(more));
      assertEquals(status, expected, text);
      if (expected === 403) assertMatch(text, /\/(conditions\/2|handshakes\/1) reads a credential/);
      // An admin may, and what is there stays.
      const { status: saved, body } = await service.api("PATCH", path, patchOf(more));
      assertEquals(saved, 200, JSON.stringify(body));
      const kept = await send("PUT", path, { ...body, response: { type: "text", text: "x" } });
      assertEquals(kept.status, 200, kept.text);
      assertEquals((await service.api("PATCH", path, held)).status, 200);
    });
  }
  await t.step("a key with a mistake", async () => {
    const wrong = patchOf({ conditions: [{ type: "deduplication", key: "body.(" }] });
    const { status, text } = await send("PATCH", `${path}?dry_run`, wrong);
    assertEquals(status, 422, text);
  });
  await t.step("a stored literal, and one that it sends", async () => {
    const literal = (secret: unknown) => ({
      conditions: [{ ...IN_BODY, secrets: [secret] }, filter("body.auth.token < 'm'")],
      handshakes: [],
    });
    const own = { conditions: [{ ...IN_BODY, secrets: [LITERAL] }], handshakes: [] };
    const { body: { conditions: [shown] } } = await service.api("PATCH", path, own);
    assertEquals((await send("PATCH", path, literal(shown.secrets[0]))).status, 403);
    assertEquals((await send("PATCH", path, literal("another-of-the-token"))).status, 200);
  });
});

Deno.test("a limited token sends no secret of the service, and none to a private network", async (t) => {
  await using service = await startService({ env: { OWN: "a-secret-of-the-trigger" } });
  const sends = (settings: object) => ({
    name: "mine",
    project: "files",
    actions: [{
      type: "http_request",
      url: "http://127.0.0.1:1/",
      private_networks: true,
      headers: { authorization: { secret: "a-literal-of-the-trigger" } },
      wait: { poll: { url: "http://127.0.0.1:1/state", until: "true" } },
      ...settings,
    }],
  });
  const withReference = { headers: { authorization: { secret: "{env:OWN}" } } };
  const { id } = await service.trigger(sends({}));
  const { id: refers } = await service.trigger({ ...sends(withReference), name: "refers" });
  const at = "http://127.0.0.1:1/notify?to=ops@example.com";
  const { id: mails } = await service.trigger({ ...sends({ url: at }), name: "mails" });
  const send = await withToken(service, { name: "p", projects: ["files"] });
  const kept = await send("PATCH", `triggers/${id}/`, sends({ body: "another" }));
  assertEquals(kept.status, 200, kept.text);
  await t.step("a masked secret to another server", async () => {
    const { body: { actions: [shown] } } = await send("GET", `triggers/${id}/`);
    const { private_networks: _private, wait: _wait, ...action } = shown;
    const refused = await send("PATCH", `triggers/${id}/`, {
      actions: [{ ...action, url: "https://example.com/" }],
    });
    assertEquals(refused.status, 422, refused.text);
    assertMatch(refused.body.errors[0].detail, /does not go to https:\/\/example.com/);
  });
  const changes: [what: string, id: string, settings: object, detail: RegExp][] = [
    ["another host", refers, { ...withReference, url: "http://example.com/" }, /\{env:OWN\}/],
    ["another reference", id, withReference, /let a trigger read/],
    ["signs with one", id, { sign: { preset: "github", secret: "{env:X}" } }, /let a trigger read/],
    ["another private address", id, { url: "http://127.0.0.1:2/" }, /set private_networks/],
    [
      "another with the same end",
      mails,
      { url: "http://127.0.0.1:2/secret?to=ops@example.com" },
      /set private_networks/,
    ],
    [
      "both in one",
      id,
      { url: "http://127.0.0.1:1/ and http://127.0.0.1:1/state", wait: "none" },
      /set private_networks/,
    ],
    [
      "polls another one",
      id,
      { wait: { poll: { url: "http://127.0.0.1:2/", until: "true" } } },
      /set private_networks/,
    ],
  ];
  for (const [what, id, settings, detail] of changes) {
    await t.step(what, async () => {
      const { actions } = sends(settings);
      const refused = await send("PATCH", `triggers/${id}/`, { actions });
      assertEquals(refused.status, 403, refused.text);
      assertMatch(refused.body.detail, detail);
    });
  }
});

Deno.test("a limited token leads no trigger to an address of a private network", async () => {
  await using service = await startService();
  const withKeys = (port: number, rest: object = { private_networks: true }) => ({
    name: "mine",
    project: "files",
    actions: ACTIONS,
    conditions: [{
      type: "jwt",
      algorithms: ["RS256"],
      jwks_url: `http://127.0.0.1:${port}/`,
      ...rest,
    }],
  });
  const { id } = await service.trigger(withKeys(1));
  const path = `triggers/${id}/`;
  const send = await withToken(service, { name: "p", projects: ["files"] });
  for (
    const [method, at, name] of [["POST", "triggers/", "fresh"], ["PUT", path, "mine"]] as const
  ) {
    const refused = await send(method, at, { ...withKeys(2), name });
    assertEquals(refused.status, 403, refused.text);
    assertMatch(refused.body.detail, /cannot set private_networks/);
    assertEquals((await send(method, at, { ...withKeys(2, {}), name })).status, 422);
  }
  const { conditions } = withKeys(2);
  assertEquals((await send("PATCH", path, { conditions })).status, 403);
  // The address of keys, whose answers nobody sees, is none for requests.
  const url = "http://127.0.0.1:1/";
  const actions = [{ type: "http_request", url, private_networks: true }];
  assertEquals((await send("PATCH", path, { conditions: [], actions })).status, 403);
  // What an admin has allowed stays.
  assertEquals(
    (await send("PUT", path, withKeys(1, { private_networks: true, leeway: 1 }))).status,
    200,
  );
});

Deno.test("a limited token does not replay into the project that a trigger has moved to", async () => {
  await using service = await startService();
  const ids = await fill(service, "mine");
  await fill(service, "others");
  const send = await withToken(service, { name: "p", projects: ["mine"] });
  assertEquals((await send("POST", `runs/${ids.runs}/replay/`)).status, 201);
  await service.api("PATCH", `triggers/${ids.triggers}/`, { project: "others" });
  for (const path of [`runs/${ids.runs}/`, `deliveries/${ids.deliveries}/`]) {
    assertEquals((await send("GET", path)).status, 200);
    assertEquals((await send("POST", `${path}replay/`)).status, 403);
  }
});

/** Makes a trigger whose run has an output and a pipeline. */
async function withWork(service: TestService, name: string) {
  const { id, url } = await service.trigger({
    name,
    actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
    response: { type: "text", text: "{run_id}" },
  });
  const run = await (await fetch(url, { method: "POST", body: "[1]" })).text();
  const { actions: [{ created: { execution_id } }] } = await endOfRun(service, run);
  const { outputs: [{ datum_id }] } = await endOfExecution(service, execution_id);
  const { store } = service.service.parts;
  const pipeline = await storePipeline(store, { run_id: run, trigger_id: id });
  return { id, pipeline: pipeline.id, datum: datum_id };
}

Deno.test("a token limited to a trigger takes no work of other triggers of its project", async (t) => {
  await using service = await startService();
  const mine = await withWork(service, "mine");
  const sibling = await withWork(service, "sibling");
  const byTrigger = await withToken(service, { name: "t", triggers: ["mine"] });
  const byProject = await withToken(service, { name: "p", projects: ["files"] });
  const copy = (source_pipeline: string) => ({ type: "copy_pipeline", source_pipeline });
  const take = (...labels: string[]) => ({
    type: "run_execution",
    step: "copy",
    inputs: { labels },
  });
  const ofNobody = newId(0);
  const table: [what: string, action: object, byTrigger: 200 | 403, byProject: 200 | 403][] = [
    ["its own pipeline", copy(mine.pipeline), 200, 200],
    ["another's pipeline", copy(sibling.pipeline), 403, 200],
    ["a pipeline that is not there yet", copy(ofNobody), 403, 403],
    ["its own output", take(`datum://${mine.datum}`), 200, 200],
    ["another's output", take(`datum://${sibling.datum}`), 403, 200],
    ["behind its own", take(`datum://${mine.datum}`, `datum://${sibling.datum}`), 403, 200],
    ["in capitals", take(`DATUM://x@${sibling.datum.toUpperCase()}/`), 403, 200],
    ["with a tab", take(` da\ttum:/\n/${sibling.datum}`), 403, 200],
    ["an output that is not there yet", take(`datum://${ofNobody}`), 403, 403],
  ];
  for (const [what, action, ofTrigger, ofProject] of table) {
    await t.step(what, async () => {
      const actions = [action];
      for (const [send, expected] of [[byTrigger, ofTrigger], [byProject, ofProject]] as const) {
        const path = `triggers/${mine.id}/`;
        const tried = await send("POST", `${path}try-actions/`, { actions });
        assertEquals(tried.status, expected, tried.text);
        for (const at of [`${path}?dry_run`, path]) {
          const saved = await send("PATCH", at, { actions });
          assertEquals(saved.status, expected, saved.text);
          if (expected === 403) assertMatch(saved.body.detail, /sees no (pipeline|datum) /);
        }
        await service.api("PATCH", path, { actions: ACTIONS });
      }
    });
  }
  await t.step("what an admin has named stays", async () => {
    const actions = [copy(sibling.pipeline), take(`datum://${sibling.datum}`)];
    await service.api("PATCH", `triggers/${mine.id}/`, { actions });
    const kept = await byTrigger("PATCH", `triggers/${mine.id}/`, {
      actions: actions.toReversed(),
    });
    assertEquals(kept.status, 200, kept.text);
  });
});

/** The lists that limited tokens read. */
const LISTS = ["triggers", "projects", "deliveries", "runs", "executions", "pipelines"];

Deno.test("lists and their cursors tell a limited token nothing of others", async (t) => {
  await using service = await startService();
  const before = await fill(service, "a-before");
  const mine = await fill(service, "mine");
  const after = await fill(service, "z-after");
  const hidden = [...Object.values(before), ...Object.values(after)];
  const tokens = [
    ["triggers", await withToken(service, { name: "t", triggers: ["mine"] })],
    ["projects", await withToken(service, { name: "p", projects: ["mine"] })],
  ] as const;
  for (const [limits, send] of tokens) {
    for (const kind of LISTS.filter((kind) => kind !== "projects" || limits === "projects")) {
      await t.step(`${kind} with a token that is limited to ${limits}`, async () => {
        const found: unknown[] = [];
        let path: string | undefined = `${kind}/?limit=1`;
        let pages = 0;
        while (path !== undefined) {
          const { status, text, body } = await send("GET", path);
          assertEquals(status, 200, text);
          for (const each of hidden) assert(!text.includes(each), text);
          found.push(...body.results);
          if (pages++ === 0) assertEquals(body.results.length, 1, "the first page is full");
          path = body.next?.replace(`${service.url}/api/v0/`, "");
        }
        const [{ id, name }] = found as [{ id: string; name: string }];
        assertEquals([found.length, id ?? name], [1, mine[kind]]);
      });
    }
  }
});

Deno.test("a limited token goes on with the cursors that it has got, and with no others", async () => {
  await using service = await startService();
  for (const name of ["one", "two", "three"]) await service.trigger({ name });
  const limits = { projects: ["files"] };
  const send = await withToken(service, { name: "a", ...limits });
  const other = await withToken(service, { name: "b", ...limits });
  const { body: { results: [one], next } } = await send("GET", "triggers/?limit=1");
  const query = new URL(next).search;
  const second = await send("GET", `triggers/${query}`);
  assertEquals([one.name, second.body.results[0].name], ["one", "two"]);
  for (
    const answer of [
      await other("GET", `triggers/${query}`),
      await send("GET", `runs/${query}`),
      await send("GET", `triggers/?cursor=${one.id}`),
      await send("GET", "projects/?cursor=files"),
    ]
  ) {
    assertEquals([answer.status, answer.body.errors[0].pointer], [422, "/cursor"]);
  }
  assertEquals((await send("GET", "triggers/?cursor=")).body.results.length, 3);
});

Deno.test("a list in which little is visible ends early, and goes on", async () => {
  const access = { id: "1", name: "p", scope: "read" as const, projects: ["mine"] };
  await using service = await startService();
  const records = new Records({ ...service.service.parts, baseUrl: () => service.url }, access);
  const list = { access, records, path: "/projects/", kind: "projects" as const };
  const cursors = new SealedCursors();
  let now_ms = 0;
  const clock = { ...systemClock, steady: () => now_ms += 60 };
  const parts = { cursors, clock };
  const asked: unknown[] = [];
  const page = (name: string, ...others: string[]) =>
    Response.json({
      results: [name, ...others].map((name) => ({ name })),
      omitted: [{ name }],
      next: `http://h/projects/?limit=1&cursor=${name}`,
    });
  const read = ({ cursor, limit }: { cursor: string; limit: number }) => {
    asked.push([cursor, limit]);
    return Promise.resolve(page(`after-${cursor}`));
  };
  const answer = await visiblePage(list, { first: page("x", "mine"), limit: 5, read }, parts);
  const { results, omitted, next } = await answer.json();
  assertEquals([results, omitted, asked.length > 1], [[{ name: "mine" }], [], true]);
  assertEquals(asked[0], ["x", 4]);
  const cursor = new URL(next).searchParams.get("cursor") ?? "";
  assertMatch(cursor, /^[\w-]{120,}$/);
  assertMatch(openCursor(cursor, list, parts) ?? "", /^after-.*x$/);
  const causes = SUBJECT_KINDS.filter((kind) => kind !== "trigger").flatMap((kind) =>
    ["mine", "others"].map((name) => ({ subject: { kind, name } }))
  );
  assertEquals(await records.visible("attention", causes), [
    { subject: { kind: "project", name: "mine" } },
  ]);
});

Deno.test("a filter by what is not a limited token's is refused alike, whether it exists or not", async () => {
  await using service = await startService();
  await fill(service, "mine");
  await fill(service, "others");
  const byTrigger = await withToken(service, { name: "t", triggers: ["mine"] });
  const byProject = await withToken(service, { name: "p", projects: ["mine"] });
  for (const list of ["runs", "executions", "pipelines"]) {
    for (const name of ["others", "none"]) {
      assertEquals((await byTrigger("GET", `${list}/?trigger=${name}`)).status, 403);
      assertEquals((await byProject("GET", `${list}/?trigger=${name}`)).status, 403);
      assertEquals((await byProject("GET", `${list}/?project=${name}`)).status, 403);
      assertEquals((await byTrigger("GET", `${list}/?project=${name}`)).body.results, []);
    }
    for (const query of ["trigger=mine", "project=mine"]) {
      for (const send of [byTrigger, byProject]) {
        assertEquals((await send("GET", `${list}/?${query}`)).body.results.length, 1);
      }
    }
  }
});
