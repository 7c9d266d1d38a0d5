/** Statuses on commits, on one running service with a real server in the place of the code hosts. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { commitOf } from "../../src/notifications/commit_of_run.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { isPublic } from "../../src/platform/network/public_addresses.ts";
import { systemClock } from "../../src/platform/clock.ts";
import {
  type ApiAnswer,
  endOfRun,
  eventually,
  startService,
  TestClock,
  type TestService,
} from "../data.ts";
import { type Received, type Receiver, startReceiver } from "../http/receiver.ts";

type Json = ApiAnswer["body"];

/** An address of the loopback network that counts as public here. */
const PUBLIC = "127.0.0.2";
const TOKEN = "a-token-of-the-tests";
const ZEROS = "0".repeat(40);

/** All pauses between attempts are multiples of this, and no time limit is. */
const STEP_MS = 4_000;

/** A clock whose pauses between attempts are over soon: what is due is decided by the time that a test sets. */
class SetClock extends TestClock {
  override after(delay_ms: number, call: () => void): () => void {
    return systemClock.after(delay_ms > 0 && delay_ms % STEP_MS === 0 ? 20 : delay_ms, call);
  }
}

interface Scene {
  service: TestService;
  receiver: Receiver;
  clock: SetClock;
}

/** Webhooks of code hosts: the path of the status, and the fields in which hosts differ. */
interface Shape {
  name: string;
  type: string;
  body(sha: string): Json;
  path(sha: string): string;
}

const github = (sha: string) => `/repos/acme/digits/statuses/${sha}`;
const gitlab = (id: string) => (sha: string) => `/projects/${id}/statuses/${sha}`;
const repository = { full_name: "acme/digits" };

const SHAPES: Shape[] = [
  {
    name: "a push to GitHub",
    type: "github_status",
    body: (sha) => ({ ref: "refs/heads/main", after: sha, head_commit: { id: sha }, repository }),
    path: github,
  },
  {
    name: "an annotated tag on GitHub",
    type: "github_status",
    body: (sha) => ({ after: shaOf("the tag"), head_commit: { id: sha }, repository }),
    path: github,
  },
  {
    name: "a pull request on GitHub",
    type: "github_status",
    body: (sha) => ({
      action: "synchronize",
      before: shaOf("before"),
      after: sha,
      pull_request: { head: { sha, repo: { full_name: "a-fork/digits" } } },
      repository,
    }),
    path: github,
  },
  {
    name: "a push to GitLab",
    type: "gitlab_status",
    body: (sha) => ({
      object_kind: "push",
      after: sha,
      checkout_sha: sha,
      project_id: 7,
      project: { id: 7, path_with_namespace: "acme/digits" },
    }),
    path: gitlab("7"),
  },
  {
    name: "a merge request on GitLab, from a fork",
    type: "gitlab_status",
    body: (sha) => ({
      object_kind: "merge_request",
      project: { id: 7 },
      object_attributes: { source_project_id: 8, target_project_id: 7, last_commit: { id: sha } },
    }),
    path: gitlab("8"),
  },
  {
    name: "a push to Gitea",
    type: "gitea_status",
    body: (sha) => ({ after: sha, head_commit: { id: sha }, repository }),
    path: github,
  },
  {
    name: "a pull request on Gitea",
    type: "gitea_status",
    body: (sha) => ({ pull_request: { head: { sha } }, repository }),
    path: github,
  },
];

Deno.test("notifiers set statuses on commits", async (t) => {
  await using receiver = startReceiver(PUBLIC);
  const clock = new SetClock(Date.now());
  await using service = await startService({
    clock,
    env: { HOST_TOKEN: TOKEN },
    network: {
      resolve: () => Promise.resolve([PUBLIC]),
      isPublic: (address) => address === PUBLIC || isPublic(address),
      caCerts: [],
    },
  });
  const scene = { service, receiver, clock };
  for (const shape of SHAPES) {
    await t.step(shape.name, () => setsStatuses(scene, shape));
  }
  await t.step("what names no commit, or did nothing, sets none", () => namesNone(scene));
  await t.step("an older run that ends last changes nothing", () => keepsNewest(scene));
  await t.step("a restart between the states", () => goesOn(scene));
  await t.step("what a code host refuses, and what to do", () => isRefused(scene));
  await t.step("a host that is down gets the last state alone", () => comesBack(scene));
  await t.step("own values", () => ownValues(scene));
  await t.step("tests, and one more time", () => testsAndResends(scene));
  await t.step("what is wrong is refused", () => refuses(scene));
});

Deno.test("a commit that cannot be read for a moment is read later", async () => {
  const settings = { type: "github_status", url: "https://api.github.com", token: TOKEN };
  const of = (error: Error) =>
    commitOf(settings, { trigger: "t", state: "success" }, () => Promise.reject(error));
  const away = new UnavailableError("Cannot read the payload: the bucket does not answer", 5);
  await assertRejects(() => of(away), UnavailableError);
  assertEquals(await of(new Error("its payload is damaged")), "its payload is damaged");
});

async function setsStatuses(scene: Scene, { type, body, path }: Shape): Promise<void> {
  const { service, receiver } = scene;
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, { type });
  for (const [end, state] of [["complete", "success"], ["error", "failure"]] as const) {
    const sha = shaOf(nextName());
    receiver.on(path(sha), () => new Response("{}", { status: 201 }));
    const { run, finish } = await launch(body(sha));
    const [pending] = await receiver.arrived(path(sha), 1);
    await finish(end);
    const [, final] = await receiver.arrived(path(sha), 2);
    for (const [received, expected] of [[pending, "pending"], [final, state]] as const) {
      const header = type === "gitlab_status" ? "private-token" : "authorization";
      const prefix = { github_status: "Bearer ", gitea_status: "token " }[type] ?? "";
      assertEquals(received?.headers.get(header), prefix + TOKEN);
      const sent = JSON.parse(received?.body ?? "");
      const isFailed = type === "gitlab_status" && expected === "failure";
      assertEquals(sent.state, isFailed ? "failed" : expected);
      assertEquals(sent.target_url, `${service.url}/deliveries/${run}`);
      assertEquals(type === "gitlab_status" ? sent.name : sent.context, `hooklaunch/${name}`);
      assert(sent.description.length <= 140);
    }
    const [told] = await settled(scene, name);
    assertEquals([told.status, told.commit.state, told.commit.sha], ["sent", state, sha]);
  }
  assertEquals((await settled(scene, name)).length, 2);
}

async function namesNone(scene: Scene): Promise<void> {
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, { type: "github_status" });
  const sha = shaOf(name);
  const bodies: Json[] = [
    { after: ZEROS, head_commit: null, repository },
    { repository },
    { after: sha },
    { after: "../../user", repository },
    { after: sha, repository: { full_name: "acme/../digits" } },
    // The condition of its action is false.
    { after: sha, repository, skip: true },
  ];
  for (const body of bodies) {
    const { finish } = await launch(body);
    await finish("complete");
  }
  assertEquals(await settled(scene, name), []);
  // The commit that ends a run lists it for its status; of another trigger it stores nothing.
  const { committer } = scene.service.service.parts.store;
  const ended = new Map<unknown, boolean>();
  const write = committer.write.bind(committer);
  committer.write = (writes, ...more) => {
    const [, id] = writes.find(({ key: [kind] }) => kind === "run")?.key ?? [];
    if (id !== undefined) ended.set(id, writes.some(({ key: [kind] }) => kind === "status_due"));
    return write(writes, ...more);
  };
  const other = await trigger(scene, "other");
  for (const [begin, isListed] of [[launch, true], [other, false]] as const) {
    const { run, finish } = await begin({ after: ZEROS, repository });
    assertEquals(ended.get(run), isListed);
    await finish("complete");
  }
  committer.write = write;
}

async function keepsNewest(scene: Scene): Promise<void> {
  const { receiver } = scene;
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, { type: "github_status" });
  const sha = shaOf(name);
  receiver.on(github(sha), () => new Response("{}", { status: 201 }));
  const body = { after: sha, repository };
  const older = await launch(body);
  await receiver.arrived(github(sha), 1);
  const newer = await launch(body);
  await receiver.arrived(github(sha), 2);
  await newer.finish("complete");
  await receiver.arrived(github(sha), 3);
  await older.finish("error");
  const [only, another] = await settled(scene, name);
  assertEquals(another, undefined);
  assertEquals([only.commit.state, only.commit.run_id], ["success", newer.run]);
  assertEquals(receiver.at(github(sha)).map(stateIn), ["pending", "pending", "success"]);
}

async function goesOn(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, { type: "github_status" });
  const sha = shaOf(name);
  receiver.on(github(sha), () => new Response("{}", { status: 201 }));
  const { finish } = await launch({ after: sha, repository });
  await eventually(
    async () => (await notifications(scene, name))[0]?.status === "sent" || undefined,
    { what: "the first state" },
  );
  await service.restart();
  await finish("complete");
  await receiver.arrived(github(sha), 2);
  await settled(scene, name);
  assertEquals(receiver.at(github(sha)).map(stateIn), ["pending", "success"]);
}

/** Answers of hosts, and what is stored of them. */
const REFUSALS: {
  type: string;
  answer: [status: number, body: string];
  status: string;
  reason?: RegExp;
}[] = [
  {
    type: "github_status",
    answer: [422, '{"message": "No commit found for SHA"}'],
    status: "failed",
    reason: /status 422: No commit found for SHA$/,
  },
  {
    type: "github_status",
    answer: [401, '{"message": "Bad credentials"}'],
    status: "pending",
    reason: /status 401: the token is wrong or has expired\. Make one with the permission/,
  },
  {
    type: "github_status",
    answer: [404, "{}"],
    status: "pending",
    reason: /404: the repository or the commit of acme\/digits is not there, or the token has no/,
  },
  {
    type: "gitlab_status",
    answer: [400, '{"message": "Cannot transition status via :enqueue from :pending"}'],
    status: "sent",
  },
  {
    type: "gitlab_status",
    answer: [400, '{"error": "sha is invalid"}'],
    status: "pending",
    reason: /status 400: sha is invalid$/,
  },
  {
    type: "gitea_status",
    answer: [403, "{}"],
    status: "pending",
    reason: /status 403: the token has no right to it\. It needs the scope write:repository$/,
  },
];

async function isRefused(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  for (const { type, answer: [code, text], status, reason } of REFUSALS) {
    const name = nextName();
    const launch = await trigger(scene, name);
    await put(scene, name, { type });
    const sha = shaOf(name);
    const path = type === "gitlab_status" ? gitlab("7")(sha) : github(sha);
    receiver.on(path, () => new Response(text, { status: code }));
    const { finish } = await launch({ after: sha, repository, project: { id: 7 } });
    const told = await eventually(async () => {
      const [first] = await notifications(scene, name);
      const isTold = first?.reason !== undefined || first?.status === "sent";
      return isTold ? first : undefined;
    }, { what: `the end of an attempt at ${type}` });
    assertEquals(told.status, status, JSON.stringify(told));
    if (reason === undefined) assertEquals(told.reason, undefined);
    else {
      assertMatch(told.reason, reason);
      const { body } = await service.api("GET", `notifiers/${name}/`);
      assertMatch(body.reason, reason);
      const { body: { results } } = await service.api("GET", "attention/?code=notifier_failed");
      assert(results.some(({ subject }: Json) => subject.name === name));
    }
    await service.api("DELETE", `notifiers/${name}/`);
    await finish("complete");
  }
}

async function comesBack(scene: Scene): Promise<void> {
  const { receiver, clock } = scene;
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, { type: "github_status" });
  const sha = shaOf(name);
  const held = Promise.withResolvers<Response>();
  receiver.on(
    github(sha),
    (_, { length }) => length === 1 ? held.promise : new Response("{}", { status: 201 }),
  );
  const { finish } = await launch({ after: sha, repository });
  await receiver.arrived(github(sha), 1);
  // The final state comes while an attempt at the first one is under way.
  await finish("complete");
  await eventually(async () => {
    const [first] = await notifications(scene, name);
    return first?.commit.state === "success" || undefined;
  }, { what: "the final state" });
  held.resolve(new Response("", { status: 500 }));
  clock.time_ms += 60_000;
  const all = await receiver.arrived(github(sha), 2);
  assertEquals(all.map(stateIn), ["pending", "success"]);
  const [only] = await settled(scene, name);
  assertEquals([only.status, only.commit.state], ["sent", "success"]);
}

async function ownValues(scene: Scene): Promise<void> {
  const { receiver } = scene;
  const name = nextName();
  const launch = await trigger(scene, name);
  await put(scene, name, {
    type: "github_status",
    sha: "{has(body.build) ? body.build.commit : ''}",
    repository: "acme/letters",
    context: "train {body.model}",
    description: {
      pending: "Training\n{body.model}{has(body.note) ? body.note : ' now'}",
      success: `{body.build.commit} ${"x".repeat(200)}`,
      failure: "{body.none}",
    },
  });
  const sha = shaOf(name);
  const path = `/repos/acme/letters/statuses/${sha}`;
  receiver.on(path, () => new Response("{}", { status: 201 }));
  const good = await launch({ build: { commit: sha }, model: "digits" });
  await good.finish("complete");
  const all = await receiver.arrived(path, 2);
  assertEquals(all.map((each) => JSON.parse(each.body).context), ["train digits", "train digits"]);
  const descriptions = () =>
    receiver.at(path).map(({ body }) => JSON.parse(body).description as string);
  assertMatch(descriptions()[0] ?? "", /^Training digits now$/);
  assertMatch(descriptions()[1] ?? "", new RegExp(`^${sha} x+…$`));
  assertEquals(descriptions()[1]?.length, 140);
  // Empty: none is wanted.
  await (await launch({ model: "digits" })).finish("complete");
  const [first, none] = await settled(scene, name);
  assertEquals([first.commit.context, none], ["train digits", undefined]);
  const bad = await launch({ build: { commit: "main" }, model: "digits" });
  await bad.finish("complete");
  const missing = await launch({ build: { commit: sha } });
  await missing.finish("complete");
  // Words without a value hold no status up.
  await (await launch({ build: { commit: sha }, model: "digits" })).finish("error");
  await receiver.arrived(path, 4);
  assertEquals(descriptions()[3], "The work has failed");
  const told = await settled(scene, name);
  const reasonOf = (of: string) => told.find(({ text }: Json) => text.includes(of))?.reason;
  assertMatch(reasonOf(bad.run), /sha: expected 40 or 64 hexadecimal digits, found "main"$/);
  assertMatch(
    reasonOf(missing.run),
    /context: expected a value of \{body.model\}.*let it be empty$/,
  );
  assertEquals(told.length, 3);
}

async function testsAndResends(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  const name = nextName();
  receiver.on("/user", () => new Response("{}"));
  const launch = await trigger(scene, name);
  await put(scene, name, { type: "github_status" });
  const { body: tested } = await service.api("POST", `notifiers/${name}/test/`);
  const [test] = await settled(scene, name);
  assertEquals([test.id, test.status], [tested.id, "sent"]);
  const [asked] = receiver.at("/user");
  assertEquals([asked?.method, asked?.headers.get("authorization")], ["GET", `Bearer ${TOKEN}`]);
  const sha = shaOf(name);
  receiver.on(github(sha), () => new Response("{}", { status: 201 }));
  const { finish } = await launch({ after: sha, repository });
  await finish("complete");
  await receiver.arrived(github(sha), 2);
  const [told] = await settled(scene, name);
  const again = await service.api("POST", `notifications/${told.id}/resend/`);
  assertEquals([again.status, again.body.id, again.body.status], [202, told.id, "pending"]);
  const [, , third] = await receiver.arrived(github(sha), 3);
  assertEquals(stateIn(third), "success");
  assertEquals((await settled(scene, name)).length, 2);
  // The checks of a token that is wrong, and of one that may see its repository.
  receiver.on("/user", () => new Response("{}", { status: 401 }));
  const wrong = await service.api("POST", `notifiers/${name}/test/`);
  const [failed] = await settled(scene, name);
  assertEquals([failed.id, failed.status], [wrong.body.id, "failed"]);
  assertMatch(failed.reason, /the token is wrong or has expired/);
  receiver.on("/repos/acme/digits", () => new Response("{}"));
  await put(scene, name, { type: "github_status", repository: "acme/digits" });
  await service.api("POST", `notifiers/${name}/test/`);
  await receiver.arrived("/repos/acme/digits", 1);
  await settled(scene, name);
}

async function refuses({ service }: Scene): Promise<void> {
  const to = { type: "github_status", token: "x" };
  const wrong: [settings: Record<string, unknown>, problem: RegExp][] = [
    [{ on: ["run_error"], to }, /\/on.*Must not stand beside a target that sets statuses/],
    [{ title: "x", to }, /\/title.*Must not stand beside/],
    [{ group: "1m", to }, /\/group.*Must not stand beside/],
    [{ include: ["payload"], to }, /\/include.*Must not stand beside/],
    [{ silent: "1h", to }, /\/silent.*Must only stand beside silent/],
    [{ to: { ...to, sha: "{nothing}" } }, /\/to\/sha.*nothing/],
    [{ to: { type: "gitea_status", token: "x" } }, /\/to\/url/],
    [{ to: { type: "github_status" } }, /\/to\/token/],
    [{ to: { type: "slack", url: "https://chat.example.com/" } }, /\/on.*at least one code/],
  ];
  for (const [settings, problem] of wrong) {
    const { status, body } = await service.api("PUT", "notifiers/wrong/", settings);
    assertEquals(status, 422, JSON.stringify(body));
    assertMatch(JSON.stringify(body), problem);
  }
  const made = await service.api("PUT", "notifiers/literal/", { to: { ...to, triggers: [] } });
  assertEquals(made.status, 422);
  const { body } = await service.api("PUT", "notifiers/literal/", { to, triggers: ["none"] });
  assertEquals([body.to.url, body.to.token, body.on], ["https://api.github.com", "********", []]);
}

let names = 0;

function nextName(): string {
  return `commit${++names}`;
}

function shaOf(text: string): string {
  return new TextEncoder().encode(text).toHex().padEnd(40, "5").slice(0, 40);
}

function stateIn(received: Received | undefined): string {
  return JSON.parse(received?.body ?? "").state;
}

async function put(
  { service, receiver }: Scene,
  name: string,
  to: Record<string, unknown>,
): Promise<void> {
  const url = `http://code.example.com:${receiver.port}/`;
  const settings = { triggers: [name], to: { url, token: "{env:HOST_TOKEN}", ...to } };
  const { status, body } = await service.api("PUT", `notifiers/${name}/`, settings);
  assert(status === 201 || status === 200, JSON.stringify(body));
  assertEquals(body.warnings, []);
}

/** A run whose work goes on until the test ends it. */
interface Launched {
  run: string;
  finish(end: "complete" | "error"): Promise<void>;
}

/** Makes a trigger whose runs start work that the test ends. */
async function trigger(
  { service, receiver }: Scene,
  name: string,
): Promise<(body: Json) => Promise<Launched>> {
  receiver.on(`/jobs/${name}`, () => new Response());
  const { url } = await service.trigger({
    name,
    response: { type: "text", text: "{run_id}" },
    actions: [{
      type: "http_request",
      if: "!has(body.skip)",
      url: `http://${PUBLIC}:${receiver.port}/jobs/${name}`,
      body: { callback: "{callback_url}", run: "{run_id}" },
      wait: "callback",
      failed: "answer.body.end == 'error'",
    }],
  });
  const { pathname } = new URL(url);
  return async (body) => {
    const answer = await fetch(service.url + pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const run = await answer.text();
    assertEquals(answer.status, 200, run);
    await endOfRun(service, run);
    return { run, finish: (end) => finish({ service, receiver }, { name, run, end }) };
  };
}

/** Ends the work of a run. */
async function finish(
  { service, receiver }: Pick<Scene, "service" | "receiver">,
  { name, run, end }: { name: string; run: string; end: string },
): Promise<void> {
  const { actions } = await endOfRun(service, run);
  if (actions.every(({ skipped }: Json) => skipped !== undefined)) return;
  const { callback } = await eventually(
    () =>
      receiver.at(`/jobs/${name}`).map(({ body }) => JSON.parse(body)).find((sent) =>
        sent.run === run
      ),
    { what: `the work of run ${run}` },
  );
  // The port is another one after a restart.
  const answer = await fetch(callback.replace(/^http:\/\/[^/]+/, service.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ end }),
  });
  await answer.body?.cancel();
  assertEquals(answer.status, 200);
}

/** Waits until nothing is to be told any more. Returns what was told, newest first. */
async function settled(scene: Scene, notifier: string): Promise<Json[]> {
  const { store } = scene.service.service.parts;
  return await eventually(async () => {
    const due = await Array.fromAsync(store.kv.list({ prefix: ["status_due"] }));
    const all = await notifications(scene, notifier);
    const isOver = due.length === 0 && all.every(({ status }: Json) => status !== "pending");
    return isOver ? all : undefined;
  }, { what: `the end of all statuses of ${notifier}` });
}

async function notifications({ service }: Scene, notifier: string): Promise<Json[]> {
  return (await service.api("GET", `notifications/?notifier=${notifier}`)).body.results;
}
