/** Notifiers and notifications in the console: listed, tried out, sent again. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Notification } from "../../../src/store/records/notifications.ts";
import { endOfRun, eventually, startService, type TestService } from "../../data.ts";
import { type Receiver, startReceiver } from "../receiver.ts";
import { type Browser, loggedIn, textOf } from "./fixture.ts";

const KEY = `whsec_${btoa("a key of the tests, 32 bytes long")}`;
const CHAT = "/services/T0/a-secret-of-the-chat";
const PAGE = "notifications";

/** The service of the tests. */
interface Scene {
  service: TestService;
  receiver: Receiver;
  browser: Browser;
  csrf: string;
}

Deno.test("the console lists notifiers and what they tell, tries them out, and sends again", async (t) => {
  await using receiver = startReceiver();
  await using service = await startService();
  const browser = await loggedIn(service);
  const scene = { service, receiver, browser, csrf: await browser.csrf() };
  await t.step("without a notifier it says how to add one", () => isEmpty(scene));
  await t.step("notifiers are listed, without their secrets", () => listsNotifiers(scene));
  await t.step("a test, and how it went", () => tests(scene));
  await t.step("one that fails, as what needs attention says", () => fails(scene));
  await t.step("a message with its causes, and once more", () => tellsCauses(scene));
  await t.step("by notifier and state", () => filters(scene));
  await t.step("each token sees what the API lets it see", () => limits(scene));
  await t.step("nothing is sent again for one that was removed", () => removed(scene));
});

async function isEmpty({ browser }: Scene): Promise<void> {
  const seen = await browser.get(PAGE);
  const text = textOf(seen);
  assert(text.includes("Nobody is told yet") && !text.includes("Messages"), text);
  assertStringIncludes(seen.text, 'href="docs/notifications"');
  assertEquals((await browser.get("docs/notifications/")).status, 200);
}

async function listsNotifiers({ service, receiver, browser }: Scene): Promise<void> {
  receiver.on("/hook", () => new Response());
  receiver.on(CHAT, () => new Response("", { status: 500 }));
  const at = (path: string) => `http://127.0.0.1:${receiver.port}${path}`;
  const notifiers = {
    ops: {
      on: ["run_error", "recovered"],
      triggers: ["told"],
      to: { type: "webhook", url: at("/hook"), private_networks: true, sign: { secret: KEY } },
    },
    chat: {
      on: ["disk_full"],
      projects: ["files"],
      to: { type: "slack", url: at(CHAT), private_networks: true },
    },
  };
  for (const [name, settings] of Object.entries(notifiers)) {
    assertEquals((await service.api("PUT", `notifiers/${name}/`, settings)).status, 201);
  }
  const seen = await browser.get(PAGE);
  const text = textOf(seen);
  assertMatch(text, /chat slack disk full Only of the projects files ✓ no failure known Test/);
  assertMatch(text, /ops webhook run error, recovered Only of the triggers told ✓/);
  for (const href of ["projects/files", "triggers/told", "notifications?notifier=ops"]) {
    assertStringIncludes(seen.text, `href="${href}"`);
  }
  assertStringIncludes(text, "Nothing was told yet");
  for (const secret of [KEY, CHAT]) assert(!seen.text.includes(secret));
}

async function tests(scene: Scene): Promise<void> {
  const { address, text } = await test(scene, "ops");
  assertMatch(text, /Test of notifier ops ✓ sent Send again Notifier ops .* Attempts 1 Text This/);
  const [received] = await scene.receiver.arrived("/hook", 1);
  assertEquals(JSON.parse(received?.body ?? "").type, "notification.test");
  const list = await scene.browser.get(PAGE);
  assertStringIncludes(list.text, `href="${address}"`);
  assertMatch(textOf(list), /ops ✓ sent Test of notifier ops 1/);
}

async function fails(scene: Scene): Promise<void> {
  const { text } = await test(scene, "chat");
  const reason = "It was answered with the status 500";
  assertMatch(text, new RegExp(`Test of notifier chat ✕ failed .* Last failure ${reason}`));
  const list = textOf(await scene.browser.get(PAGE));
  assertMatch(list, new RegExp(`chat slack .* ✕ fails for \\d+ \\w+ ${reason} Test ops`));
  assertMatch(list, new RegExp(`chat ✕ failed Test of notifier chat ${reason} 1`));
  const attention = await scene.browser.get("attention");
  assertStringIncludes(attention.text, 'href="notifications?notifier=chat"');
  assertStringIncludes(textOf(attention), `Notifier chat : It cannot be told: ${reason}`);
}

async function tellsCauses(scene: Scene): Promise<void> {
  const { service, browser, csrf } = scene;
  const { url } = await service.trigger({
    name: "told",
    response: { type: "text", text: "{run_id}" },
    actions: [{ type: "run_execution", step: "echo", parameters: { word: "{body.none}" } }],
  });
  const runId = await (await fetch(url, { method: "POST", body: "{}" })).text();
  await endOfRun(service, runId);
  const { id } = await eventually(async () => {
    const { body } = await service.api("GET", "notifications/?notifier=ops&status=sent");
    return body.results.find(({ causes }: Notification) => causes.length > 0);
  }, { what: "a message with a cause" });
  const seen = await browser.get(`${PAGE}/${id}`);
  assertMatch(
    textOf(seen),
    /New: run_error of trigger told ✓ sent .* Causes .* told ✕ began run error: a run failed: /,
  );
  // The page of a cause is reached at the address that the browser uses.
  assertStringIncludes(seen.text, `href="deliveries/${runId}"`);
  const sent = await browser.post(`${PAGE}/${id}/resend`, { csrf });
  const again = await endOf(scene, sent.headers);
  assert(again.address !== `${PAGE}/${id}`);
  assertMatch(again.text, /Sent again: .* ✓ sent .* Sends again/);
  assertStringIncludes(again.html, `href="${PAGE}/${id}"`);
  const ids = (await scene.receiver.arrived("/hook", 3)).map(({ body }) => JSON.parse(body).data);
  assertEquals(ids.at(-1).causes[0].run_id, runId);
}

async function filters({ browser }: Scene): Promise<void> {
  const titles = async (query: string) => {
    const { text } = await browser.get(`${PAGE}?${query}`);
    const [, list = ""] = /id="messages"(.*)/s.exec(text) ?? [];
    return [...list.matchAll(/Test of notifier (\w+)/g)].map(([, name]) => name);
  };
  assertEquals(await titles(""), ["chat", "ops"]);
  assertEquals(await titles("notifier=ops&status="), ["ops"]);
  assertEquals(await titles("status=failed"), ["chat"]);
  assertEquals(await titles("notifier=ops&status=failed"), []);
  assertStringIncludes(
    textOf(await browser.get(`${PAGE}?notifier=ops&status=failed`)),
    "None is like this",
  );
}

async function limits({ service, browser }: Scene): Promise<void> {
  const { body: { results: [{ id }] } } = await service.api("GET", "notifications/");
  const tokenOf = async (settings: { name: string; scope: string; triggers?: string[] }) =>
    await loggedIn(service, (await service.api("POST", "tokens/", settings)).body.token);
  const reader = await tokenOf({ name: "reader", scope: "read" });
  const list = await reader.get(PAGE);
  assertEquals(list.status, 200);
  assert(!list.text.includes("/test"), "no button that it may not press");
  assert(!(await reader.get(`${PAGE}/${id}`)).text.includes("/resend"));
  assert((await browser.get(`${PAGE}/${id}`)).text.includes("/resend"));
  const limited = await tokenOf({ name: "limited", scope: "operate", triggers: ["told"] });
  for (const address of ["", "attention"]) {
    const { text } = await limited.get(address);
    assert(!text.includes('href="notifications'), address);
  }
  for (const address of ["settings", "attention"]) {
    assertStringIncludes((await reader.get(address)).text, 'href="notifications"');
  }
  for (const address of [PAGE, `${PAGE}/${id}`]) {
    const seen = await limited.get(address);
    assertEquals(seen.status, 403);
    assertStringIncludes(textOf(seen), "is limited to trigger told");
  }
  for (const [who, status] of [[reader, 403], [limited, 403]] as const) {
    const csrf = await who.csrf();
    for (const form of ["notifiers/ops/test", `${id}/resend`]) {
      assertEquals((await who.post(`${PAGE}/${form}`, { csrf })).status, status, form);
    }
  }
}

async function removed({ service, browser, csrf }: Scene): Promise<void> {
  const { body: { results: [{ id }] } } = await service.api("GET", "notifications/?notifier=ops");
  await service.api("DELETE", "notifiers/ops/");
  const { status, text } = await browser.post(`${PAGE}/${id}/resend`, { csrf });
  assertEquals(status, 409);
  assertStringIncludes(textOf({ text }), "notifier &quot;ops&quot; was removed");
  assertEquals((await browser.post(`${PAGE}/notifiers/ops/test`, { csrf })).status, 404);
  await service.api("DELETE", "notifiers/chat/");
  const left = textOf(await browser.get(PAGE));
  assertMatch(left, /Nobody is told yet .* ops ✓ sent/);
}

/** Presses the button that tries a notifier out, and follows the message to its end. */
async function test(scene: Scene, notifier: string) {
  const { browser, csrf } = scene;
  const { headers } = await browser.post(`${PAGE}/notifiers/${notifier}/test`, { csrf });
  const seen = await endOf(scene, headers);
  assertStringIncludes(seen.text, "The test is made: below is how it goes");
  return seen;
}

/** Waits for the end of the message that a form leads to. */
async function endOf({ service, browser }: Scene, headers: Headers) {
  const address = headers.get("location")?.slice(1) ?? "";
  assertMatch(address, /^notifications\/[\w-]+$/);
  await eventually(async () => {
    const { body } = await service.api("GET", `${address}/`);
    return body.status !== "pending" || undefined;
  }, { what: `the end of ${address}` });
  const { text: html } = await browser.get(address);
  assert(!html.includes("data-refresh"), "what has ended does not change");
  return { address, html, text: textOf({ text: html }) };
}
