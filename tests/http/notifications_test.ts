/** Notifications on one running service, with real servers that receive. Time is set by the tests. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { isPublic } from "../../src/platform/network/public_addresses.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { getNotifierState } from "../../src/store/records/notifiers.ts";
import { endOfRun, eventually, startService, TestClock, type TestService } from "../data.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const KEY = `whsec_${btoa("a key of the tests, 32 bytes long")}`;
/** An address of the loopback network that counts as public here. */
const PUBLIC = "127.0.0.2";
/** A name of that address. */
const HOST = "ops.example.com";

/** All pauses of notifications, and all steps of these tests, are multiples of this; time limits are none. */
const STEP_MS = 4_000;
/** The time limit of an attempt. A receiver of these tests is slow for as long as they need it. */
const LIMIT_MS = 15_000;

/** A clock whose pauses are over soon: what is due then is decided by the time that a test sets. */
class SetClock extends TestClock {
  override after(delay_ms: number, call: () => void): () => void {
    if (delay_ms === LIMIT_MS) return () => {};
    return systemClock.after(delay_ms % STEP_MS === 0 ? 20 : delay_ms, call);
  }
}

/** The service of the tests. */
interface Scene {
  service: TestService;
  receiver: Receiver;
  clock: SetClock;
}

// The tests look into it by the API's contract.
// deno-lint-ignore no-explicit-any
type Body = any;

Deno.test("notifiers tell of causes, once each, and of their ends", async (t) => {
  await using receiver = startReceiver(PUBLIC);
  await using privateReceiver = startReceiver();
  const clock = new SetClock(Date.now());
  await using service = await startService({
    clock,
    env: { OPS_KEY: KEY, CHAT_URL: `http://${HOST}:${receiver.port}/slack` },
    network: {
      resolve: () => Promise.resolve([PUBLIC]),
      isPublic: (address) => address === PUBLIC || isPublic(address),
      caCerts: [],
    },
  });
  const scene = { service, receiver, clock };
  await t.step("a failure, its count, and its end", () => tellsOfFailures(scene));
  await t.step("each failure, where ends are not told", () => tellsOfNoEnds(scene));
  await t.step("hundreds of failures in a short time", () => tellsOfMany(scene));
  await t.step("a receiver that fails gets it later", () => triesAgain(scene));
  await t.step("one that arrives, which cannot be stored at once", () => storesLater(scene));
  await t.step("redirects and private addresses", () => staysOutside(scene, privateReceiver));
  await t.step("a secret that is not there, by its place", () => tellsOfSecrets(scene));
  await t.step("triggers and projects that are not there", () => tellsOfAbsent(scene));
  await t.step("each chat gets its own shape", () => tellsChats(scene));
  await t.step("own words, and the payload where it is included", () => ownWords(scene));
  await t.step("a test, and one more time", () => testsAndResends(scene));
  await t.step("silence, across a restart and jumps of the clock", () => tellsOfSilence(scene));
  await t.step("hours in which silence is normal", () => staysQuiet(scene));
  await t.step("refusals above a number", () => tellsOfRefusals(scene));
  await t.step("what is wrong is refused", () => refuses(scene));
});

Deno.test("a notifier to an address that is not public is told when it is saved", async () => {
  await using service = await startService();
  const mail = { type: "email", security: "none", from: "a@example.com", to: ["b@example.com"] };
  const on = ["run_error"];
  for (
    const [place, to] of [
      ["url", { type: "webhook", url: "http://10.0.0.5/" }],
      ["url", { type: "ntfy", topic: "ops", url: "http://localhost:8080" }],
      ["url", { type: "slack", url: "http://169.254.1.1/hook" }],
      ["url", { type: "gitlab_status", url: "https://[fd00::1]/api", token: "glpat-x" }],
      ["host", { ...mail, host: "10.0.0.5" }],
      ["host", { ...mail, host: "::1" }],
      [undefined, { ...mail, host: "mail.example.com" }],
      [undefined, { type: "webhook", url: "http://10.0.0.5/", private_networks: true }],
      [undefined, { type: "slack", url: "https://hooks.example.com/x" }],
    ] as const
  ) {
    const notifier = { to, ...(to.type !== "gitlab_status" && { on }) };
    const { body } = await service.api("PUT", "notifiers/private/", notifier);
    const found = body.warnings?.map(({ pointer }: Body) => pointer);
    assertEquals(found, place === undefined ? [] : [`/to/${place}`], JSON.stringify([to, body]));
    await service.api("DELETE", "notifiers/private/");
  }
});

async function tellsOfFailures(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  const launch = await trigger(service, "told");
  receiver.on("/hook", () => new Response("thanks"));
  const on = ["run_error", "recovered"];
  await put(service, "ops", { on, to: webhook(scene, "/hook"), triggers: ["told"] });
  await trigger(service, "other").then((other) => other(false));
  const first = await launch(false);
  const [one] = await receiver.arrived("/hook", 1);
  const told = verified(one);
  assertEquals(told.type, "notification");
  const [cause] = told.data.causes;
  assertEquals([cause.code, cause.state, cause.count], ["run_error", "began", 1]);
  assertEquals([cause.subject.name, cause.run_id], ["told", first]);
  assertEquals(cause.url, `${service.url}/deliveries/${first}`);
  assertMatch(cause.text, /^a run failed: Cannot perform run_execution: parameters\/word/);
  // What comes within the group time waits.
  for (let count = 0; count < 99; count++) await launch(false);
  await settled(service);
  clock.time_ms += MINUTE_MS;
  const [, two] = await receiver.arrived("/hook", 2);
  const more = verified(two).data.causes[0];
  assertEquals([more.state, more.count], ["continues", 100]);
  await launch(false);
  await launch(true);
  await settled(service);
  clock.time_ms += MINUTE_MS;
  const [, , three] = await receiver.arrived("/hook", 3);
  const over = verified(three).data.causes[0];
  assertEquals([over.state, over.count], ["recovered", 101]);
  assert(over.ended_at !== undefined);
  // What comes and goes is told less often.
  await launch(false);
  await settled(service);
  clock.time_ms += MINUTE_MS;
  // What has arrived is noted as sent a moment later.
  const sent = await eventually(async () => {
    const all = await notifications(service, "ops");
    return all.every(({ status }: Body) => status !== "pending") ? all : undefined;
  }, { what: "the end of all notifications" });
  assertEquals(sent.map(({ status }: Body) => status), ["sent", "sent", "sent"]);
  clock.time_ms += 2 * MINUTE_MS;
  const [, , , four] = await receiver.arrived("/hook", 4);
  assertEquals(verified(four).data.causes[0].state, "began");
  // It goes on: once a day.
  for (const [count, state] of [[5, "continues"], [6, "continues"]] as const) {
    await launch(false);
    await launch(false);
    await settled(service);
    clock.time_ms += DAY_MS;
    const all = await receiver.arrived("/hook", count);
    assertEquals(verified(all.at(-1)).data.causes[0].state, state);
  }
  await launch(true);
  await settled(service);
  clock.time_ms += MINUTE_MS;
  await receiver.arrived("/hook", 7);
  assertEquals(new Set(receiver.at("/hook").map(idOf)).size, 7);
}

async function tellsOfNoEnds(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  const launch = await trigger(service, "failing");
  receiver.on("/failures", () => new Response());
  const to = webhook(scene, "/failures");
  await put(service, "failures", { on: ["run_error"], to, triggers: ["failing"] });
  for (let failures = 1; failures <= 3; failures++) {
    await launch(false);
    await settled(service);
    clock.time_ms += 10 * MINUTE_MS;
    const told = await receiver.arrived("/failures", failures);
    const [{ state, count }] = verified(told.at(-1)).data.causes;
    assertEquals([state, count], ["began", 1]);
    await launch(true);
    await settled(service);
  }
  // The second of these has ended before it is told.
  for (const isGood of [false, true, false, true]) {
    await launch(isGood);
    await settled(service);
  }
  clock.time_ms += 24 * 60 * MINUTE_MS;
  const told = await receiver.arrived("/failures", 5);
  assertEquals(verified(told.at(-1)).data.causes[0].state, "began");
}

async function tellsOfMany(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  const launch = await trigger(service, "many");
  const COUNT = 250;
  receiver.on("/many", () => new Response());
  await put(service, "many", {
    on: ["run_error"],
    to: webhook(scene, "/many"),
    triggers: ["many"],
  });
  const first = await launch(false);
  const { trigger_id } = await endOfRun(service, first);
  let left = COUNT - 1;
  const send = async () => {
    while (left-- > 0) {
      const url = `${service.url}/api/v0/launch/${trigger_id}/`;
      const answer = await fetch(url, { method: "POST", body: '{"no": "value"}' });
      const text = await answer.text();
      assertEquals(answer.status, 200, text);
    }
  };
  await Promise.all(Array.from({ length: 32 }, send));
  const { worker } = service.service.parts;
  await eventually(() => worker.backlog === 0 || undefined, { what: "the end of all runs" });
  await settled(service);
  // What has not come with the first message comes with the next one.
  await receiver.arrived("/many", 1);
  clock.time_ms += MINUTE_MS;
  const countOf = (received: Received | undefined) => verified(received).data.causes[0].count;
  await eventually(() => countOf(receiver.at("/many").at(-1)) === COUNT || undefined, {
    what: `a message about ${COUNT} failures`,
  });
  assert(receiver.at("/many").length <= 2);
  await service.api("DELETE", "notifiers/many/");
}

async function storesLater(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  receiver.on("/later", (_, { length }) => new Response("", { status: length < 2 ? 500 : 200 }));
  const launch = await trigger(service, "later");
  await put(service, "later", {
    on: ["run_error"],
    to: webhook(scene, "/later"),
    triggers: ["later"],
  });
  await launch(false);
  const { store } = service.service.parts;
  const stateOf = () => getNotifierState(store, "later");
  await eventually(async () => (await stateOf()).failing_since, { what: "a failed attempt" });
  const { committer } = store;
  const write = committer.write.bind(committer);
  let failures = 0;
  committer.write = (writes) => {
    const isSent = writes.some(({ value }) => {
      const { notifier, status } = Object(value);
      return notifier === "later" && status === "sent";
    });
    if (!isSent || failures++ > 0) return write(writes);
    return Promise.reject(new UnavailableError("Cannot store: the connection broke", 1));
  };
  clock.time_ms += MINUTE_MS;
  await eventually(
    async () => (await notifications(service, "later"))[0]?.status === "sent" || undefined,
    { what: "a notification that is sent" },
  );
  committer.write = write;
  assertEquals([failures, (await stateOf()).failing_since], [2, undefined]);
}

async function triesAgain(scene: Scene): Promise<void> {
  const held = Promise.withResolvers<Response>();
  try {
    await triesDown(scene, held.promise);
  } finally {
    held.resolve(new Response());
  }
}

async function triesDown(scene: Scene, held: Promise<Response>): Promise<void> {
  const { service, receiver, clock } = scene;
  const launch = await trigger(service, "again");
  receiver.on("/down", (_, { length }) => new Response("", { status: length < 3 ? 500 : 200 }));
  receiver.on("/slow", () => held);
  receiver.on("/fine", () => new Response());
  for (const name of ["down", "slow", "fine"]) {
    const to = webhook(scene, `/${name}`);
    await put(service, name, { on: ["run_error"], to, triggers: ["again"] });
  }
  const on = ["notifier_failed", "recovered"];
  receiver.on("/watch", () => new Response());
  await put(service, "watch", { on, to: webhook(scene, "/watch") });
  await launch(false);
  await receiver.arrived("/slow", 1);
  await receiver.arrived("/fine", 1);
  await eventually(async () => (await notifications(service, "down"))[0]?.reason, {
    what: "a failed attempt",
  });
  const [pending] = await notifications(service, "down");
  assertEquals([pending.status, pending.attempts], ["pending", 1]);
  assertEquals(pending.reason, "It was answered with the status 500");
  const attention = await service.api("GET", "attention/?code=notifier_failed");
  assertEquals(attention.body.results.map(({ subject }: Body) => subject.name), ["down"]);
  await service.service.parts.notifications.look();
  const [failing] = await receiver.arrived("/watch", 1);
  const [{ subject, url }] = verified(failing).data.causes;
  assertEquals(subject, { kind: "notifier", name: "down" });
  assertEquals(url, `${service.url}/notifications?notifier=down`);
  // Meanwhile nothing else is told there, whatever fails.
  for (let count = 0; count < 5; count++) await launch(false);
  await settled(service);
  const all = await passing(scene, "/down", 3);
  // The next message may have come with the third attempt of this one.
  assertEquals(new Set(all.slice(0, 3).map(idOf)).size, 1);
  const more = await passing(scene, "/down", 4);
  assertEquals(verified(more.at(-1)).data.causes[0].count, 6);
  await eventually(async () => {
    const { body } = await service.api("GET", "notifiers/down/");
    return body.failing_since === undefined || undefined;
  }, { what: "a notifier that works" });
  await service.service.parts.notifications.look();
  clock.time_ms += MINUTE_MS;
  const [, recovered] = await receiver.arrived("/watch", 2);
  assertEquals(verified(recovered).data.causes[0].state, "recovered");
}

async function staysOutside(scene: Scene, inside: Receiver): Promise<void> {
  const { service, receiver, clock } = scene;
  inside.on("/inside", () => new Response());
  const location = `http://127.0.0.1:${inside.port}/inside`;
  receiver.on("/moved", () => new Response("", { status: 301, headers: { location } }));
  const secret = "{env:OPS_KEY}";
  const at = (url: string, more = {}) => ({ type: "webhook", url, sign: { secret }, ...more });
  await put(service, "moved", { on: ["run_error"], to: webhook(scene, "/moved") });
  await put(service, "inside", { on: ["run_error"], to: at(location) }, ["/to/url"]);
  for (
    const [name, reason] of [
      ["moved", /status 301: redirects are not followed/],
      [
        "inside",
        /no public address: to allow others, set to.private_networks of the notifier to true/,
      ],
    ] as const
  ) {
    const { body: { id } } = await service.api("POST", `notifiers/${name}/test/`);
    const ended = await endOf(service, id);
    assertEquals(ended.status, "failed");
    assertMatch(ended.reason, reason);
  }
  assertEquals(inside.at("/inside"), []);
  await put(service, "inside", { on: ["run_error"], to: at(location, { private_networks: true }) });
  const { body: { id } } = await service.api("POST", "notifiers/inside/test/");
  assertEquals((await endOf(service, id)).status, "sent");
  for (const name of ["moved", "inside"]) await service.api("DELETE", `notifiers/${name}/`);
  clock.time_ms += MINUTE_MS;
}

async function tellsOfSecrets({ service }: Scene): Promise<void> {
  const on = ["run_error"];
  const absent = "{env:ABSENT}";
  const url = `http://${HOST}/`;
  for (
    const [place, notifier] of [
      ["to/url", { on, to: { type: "slack", url: absent } }],
      ["to/sign/secret", { on, to: { type: "webhook", url, sign: { secret: absent } } }],
      ["to/token", { on, to: { type: "ntfy", topic: "ops", url, token: absent } }],
      ["to/token", { to: { type: "github_status", token: absent } }],
    ] as const
  ) {
    const { body: { warnings } } = await service.api("PUT", "notifiers/absent/", notifier);
    assertEquals(warnings.map(({ pointer }: { pointer: string }) => pointer), [`/${place}`]);
    const { body: { id } } = await service.api("POST", "notifiers/absent/test/");
    const { reason } = await endOf(service, id);
    assertStringIncludes(reason, `: ${place} cannot be used: its variable is not set`);
    await service.api("DELETE", "notifiers/absent/");
  }
}

async function tellsOfAbsent({ service }: Scene): Promise<void> {
  const { id } = await service.trigger({ name: "there" });
  const gone = crypto.randomUUID();
  for (
    const [limits, warnings] of [
      [{ triggers: ["there", id] }, []],
      [{ projects: ["files"] }, []],
      [{ triggers: ["there", "their", gone] }, [
        ["/triggers/1", 'Nothing is told of it: no trigger has the name or the id "their"'],
        ["/triggers/2", `Nothing is told of it: no trigger has the name or the id "${gone}"`],
      ]],
      [{ projects: ["file"] }, [
        ["/projects/0", 'Nothing is told of it: there is no project "file"'],
      ]],
    ] as const
  ) {
    const to = { type: "webhook", url: `http://${HOST}/` };
    const notifier = { on: ["run_error"], to, ...limits };
    const { body } = await service.api("PUT", "notifiers/limited/", notifier);
    const found = body.warnings.map(({ pointer, detail }: Body) => [pointer, detail]);
    assertEquals(found, warnings);
  }
  await service.api("DELETE", "notifiers/limited/");
}

async function tellsChats(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  const launch = await trigger(service, "chatty");
  const url = (path: string) => `http://${HOST}:${receiver.port}${path}`;
  const shapes: [type: string, path: string, text: (body: Body) => string][] = [
    ["slack", "/slack", ({ text }) => text],
    ["mattermost", "/mattermost", ({ text }) => text],
    ["discord", "/discord", ({ content }) => content],
    ["teams", "/teams", ({ attachments: [card] }) => JSON.stringify(card.content.body)],
    ["ntfy", "/", ({ title, message }) => `${title}\n${message}`],
  ];
  for (const [type, path] of shapes) {
    receiver.on(path, () => new Response("ok"));
    const to = type === "ntfy"
      ? { type, url: url("/"), topic: "ops", token: "tk_of_the_tests" }
      : { type, url: type === "slack" ? "{env:CHAT_URL}" : url(path) };
    await put(service, type, { on: ["run_error"], triggers: ["chatty"], to });
    const shown = await service.api("GET", `notifiers/${type}/`);
    const secret = type === "ntfy" ? shown.body.to.token : shown.body.to.url;
    assertEquals(secret, type === "slack" ? "{env:CHAT_URL}" : "********");
  }
  await launch(false);
  for (const [type, path, textOf] of shapes) {
    const [received] = await receiver.arrived(path, 1);
    const text = textOf(JSON.parse(received?.body ?? ""));
    assertStringIncludes(text, "chatty");
    if (type === "ntfy") {
      assertEquals(received?.headers.get("authorization"), "Bearer tk_of_the_tests");
    }
  }
  for (const [type] of shapes) await service.api("DELETE", `notifiers/${type}/`);
}

async function ownWords(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  const launch = await trigger(service, "words");
  receiver.on("/words", () => new Response());
  await put(service, "words", {
    on: ["run_error"],
    triggers: ["words"],
    title: "{cause.subject.name} is down",
    text: "{size(causes)} cause: {cause.none}",
    include: ["payload"],
    to: webhook(scene, "/words"),
  });
  await put(service, "plain", {
    on: ["run_error"],
    triggers: ["words"],
    to: webhook(scene, "/plain"),
  });
  receiver.on("/plain", () => new Response());
  await launch(false);
  const { data } = verified((await receiver.arrived("/words", 1))[0]);
  assertEquals(data.title, "words is down");
  assertMatch(
    data.text,
    /New: trigger words: run_error.*\(A template of this notifier has no value/s,
  );
  assertEquals(data.causes[0].payload, '{"no":"value of a payload"}');
  const [plain] = await receiver.arrived("/plain", 1);
  assert(!plain?.body.includes("value of a payload"), plain?.body);
  for (const name of ["words", "plain"]) await service.api("DELETE", `notifiers/${name}/`);
}

async function testsAndResends(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  receiver.on("/test", () => new Response());
  await put(service, "tested", { on: ["disk_full"], to: webhook(scene, "/test") });
  const made = await service.api("POST", "notifiers/tested/test/");
  assertEquals([made.status, made.body.is_test], [202, true]);
  await endOf(service, made.body.id);
  const again = await service.api("POST", `notifications/${made.body.id}/resend/`);
  assertEquals([again.status, again.body.resend_of], [202, made.body.id]);
  assertEquals((await endOf(service, again.body.id)).status, "sent");
  const types = (await receiver.arrived("/test", 2)).map((each) => verified(each).type);
  assertEquals(types, ["notification.test", "notification.test"]);
  await service.api("DELETE", "notifiers/tested/");
  const gone = await service.api("POST", `notifications/${made.body.id}/resend/`);
  assertEquals(gone.status, 409);
}

async function tellsOfSilence(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  receiver.on("/silence", () => new Response());
  const launch = await trigger(service, "watched");
  await put(service, "silence", {
    on: ["silent", "recovered"],
    triggers: ["watched"],
    silent: "1h",
    group: "1m",
    to: webhook(scene, "/silence"),
  });
  await launch(true);
  await look(scene, 1);
  // A jump of the wall clock is no silence.
  clock.ahead_ms += 3 * DAY_MS;
  await look(scene, 40);
  assertEquals(receiver.at("/silence").length, 0);
  clock.ahead_ms -= 3 * DAY_MS;
  await service.restart();
  await look(scene, 1);
  await look(scene, 24);
  const [told] = await receiver.arrived("/silence", 1);
  const [cause] = verified(told).data.causes;
  assertEquals([cause.code, cause.text], ["silent", "No delivery was accepted for 1h"]);
  const attention = await service.api("GET", "attention/?code=silent");
  assertEquals(attention.body.results.map(({ subject }: Body) => subject.name), ["watched"]);
  await launch(true);
  await look(scene, 2);
  const [, over] = await receiver.arrived("/silence", 2);
  assertEquals(verified(over).data.causes[0].state, "recovered");
  await service.api("DELETE", "notifiers/silence/");
}

async function staysQuiet(scene: Scene): Promise<void> {
  const { service, receiver, clock } = scene;
  const { ahead_ms } = clock;
  /** Sets the wall clock forward to a time of the day. */
  const setTo = (hour: number, minute: number) => {
    const time_ms = (hour * 60 + minute) * MINUTE_MS;
    clock.ahead_ms += (time_ms - clock.now() % DAY_MS + DAY_MS) % DAY_MS;
  };
  receiver.on("/quiet", () => new Response());
  const launch = await trigger(service, "nightly");
  await put(service, "quiet", {
    on: ["silent"],
    triggers: ["nightly"],
    silent: "1h",
    quiet: ["22:00-06:00"],
    to: webhook(scene, "/quiet"),
  });
  setTo(22, 30);
  await launch(true);
  await look(scene, 70);
  setTo(5, 30);
  // Half an hour that does not count, and less than one that does.
  await look(scene, 30 + 55);
  assertEquals(await notifications(service, "quiet"), []);
  await look(scene, 10);
  const [told] = await receiver.arrived("/quiet", 1);
  assertEquals(verified(told).data.causes[0].subject.name, "nightly");
  await service.api("DELETE", "notifiers/quiet/");
  clock.ahead_ms = ahead_ms;
}

async function tellsOfRefusals(scene: Scene): Promise<void> {
  const { service, receiver } = scene;
  receiver.on("/refused", () => new Response());
  const { url } = await service.trigger({
    name: "guarded",
    conditions: [{ type: "ip_allowlist", ranges: ["10.0.0.0/8"] }],
  });
  await put(service, "refusals", {
    on: ["refused"],
    triggers: ["guarded"],
    refused: { above: 2, within: "1h" },
    to: webhook(scene, "/refused"),
  });
  const post = async () => await (await fetch(url, { method: "POST", body: "{}" })).body?.cancel();
  for (let count = 0; count < 2; count++) await post();
  await look(scene, 1);
  assertEquals(receiver.at("/refused").length, 0);
  await post();
  await look(scene, 1);
  const [told] = await receiver.arrived("/refused", 1);
  assertEquals(
    verified(told).data.causes[0].text,
    "3 of 3 deliveries were refused in the last 1h",
  );
  await service.api("DELETE", "notifiers/refusals/");
}

async function refuses(scene: Scene): Promise<void> {
  const to = webhook(scene, "/x");
  const wrong: [settings: Record<string, unknown>, problem: RegExp][] = [
    [{ on: [], to }, /\/on/],
    [{ on: ["nothing"], to }, /run_error/],
    [{ on: ["silent"], to }, /Expected a time such as 24h, since `on` has silent/],
    [{ on: ["run_error"], quiet: ["sat"], to }, /Must only stand beside silent/],
    [{ on: ["silent"], silent: "1h", quiet: ["someday"], to }, /Expected days, hours or both/],
    [{ on: ["silent"], silent: "1h", quiet: ["sat Mars/Base"], to }, /Expected a time zone/],
    [{ on: ["refused"], refused: { above: "many" }, to }, /such as 20, or a share such as 10%/],
    [{ on: ["run_error"], triggers: ["a"], projects: ["b"], to }, /Must not stand beside triggers/],
    [{ on: ["run_error"], title: "{nothing}", to }, /nothing/],
    [{ on: ["run_error"], to: { type: "pigeon" } }, /webhook.*slack/],
    [
      { on: ["run_error"], to: { ...to, sign: { preset: "nobody", secret: "y" } } },
      /can be signed/,
    ],
    [{ on: ["run_error"], to: { type: "slack", url: "********" } }, /stands for a stored one/],
  ];
  for (const [settings, problem] of wrong) {
    const { status, body } = await scene.service.api("PUT", "notifiers/wrong/", settings);
    assertEquals(status, 422, JSON.stringify(body));
    assertMatch(JSON.stringify(body), problem);
  }
}

/** Lets time pass until a path has had so many requests. */
function passing({ receiver, clock }: Scene, path: string, count: number): Promise<Received[]> {
  return eventually(() => {
    clock.time_ms += 2 * STEP_MS;
    return receiver.at(path).length >= count ? receiver.at(path) : undefined;
  }, { what: `request ${count} of ${path}` });
}

/** Waits until all ends of work are counted. */
async function settled({ service: { parts } }: TestService): Promise<void> {
  await eventually(async () => {
    const [left] = await Array.fromAsync(parts.store.kv.list({ prefix: ["notice"] }, { limit: 1 }));
    return left === undefined || undefined;
  }, { what: "no notice that is left" });
}

/** Lets minutes pass, with a look in each. */
async function look({ service, clock }: Scene, minutes: number): Promise<void> {
  for (let count = 0; count < minutes; count++) {
    clock.time_ms += MINUTE_MS;
    await service.service.parts.notifications.look();
  }
}

function webhook({ receiver }: Scene, path: string): Record<string, unknown> {
  return {
    type: "webhook",
    url: `http://${HOST}:${receiver.port}${path}`,
    sign: { secret: "{env:OPS_KEY}" },
  };
}

async function put(
  service: TestService,
  name: string,
  settings: Record<string, unknown>,
  warned: string[] = [],
): Promise<void> {
  const { status, body } = await service.api("PUT", `notifiers/${name}/`, settings);
  assert(status === 201 || status === 200, JSON.stringify(body));
  assertEquals(body.warnings.map(({ pointer }: Body) => pointer), warned);
}

/** Makes a trigger whose runs succeed or fail as each launch says. A launch returns when its run has ended. */
async function trigger(
  service: TestService,
  name: string,
): Promise<(isGood: boolean) => Promise<string>> {
  const { url } = await service.trigger({
    name,
    response: { type: "text", text: "{run_id}" },
    actions: [{
      type: "run_execution",
      step: "echo",
      if: "true",
      parameters: { word: "{body.word}" },
    }],
  });
  const { pathname } = new URL(url);
  return async (isGood) => {
    const body = JSON.stringify(isGood ? { word: "hello" } : { no: "value of a payload" });
    const answer = await fetch(service.url + pathname, { method: "POST", body });
    const id = await answer.text();
    assertEquals(answer.status, 200, id);
    await endOfRun(service, id);
    return id;
  };
}

async function notifications(service: TestService, notifier: string): Promise<Body[]> {
  return (await service.api("GET", `notifications/?notifier=${notifier}`)).body.results;
}

function endOf(service: TestService, id: string): Promise<Body> {
  return eventually(async () => {
    const { body } = await service.api("GET", `notifications/${id}/`);
    return body.status === "pending" ? undefined : body;
  }, { what: `the end of notification ${id}` });
}

/** Returns the body of a message whose signature is right. */
function verified(received: Received | undefined): Body {
  assert(received !== undefined);
  const headers = Object.fromEntries(received.headers);
  // The clock of the tests may be far from that of the library, which checks the time.
  headers["webhook-timestamp"] = headers["webhook-timestamp"] ?? "";
  const { body } = received;
  assertEquals(headers["webhook-signature"]?.slice(0, 3), "v1,");
  const hook = new Webhook(KEY);
  const time = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  assertEquals(hook.sign(headers["webhook-id"] ?? "", time, body), headers["webhook-signature"]);
  return JSON.parse(body);
}

function idOf({ headers }: Received): string | null {
  return headers.get("webhook-id");
}
