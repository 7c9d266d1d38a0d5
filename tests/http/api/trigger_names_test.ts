/** Names of triggers in any script: what is one, what is refused, and each place that a name goes to. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, startService, type TestService } from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";
import { loggedIn } from "../console/fixture.ts";

const SETTINGS = { project: "files", actions: [{ type: "run_execution", step: "echo" }] };
const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

const good = [
  "retrain",
  "Neue Bestellung",
  "заказы API v2",
  "再学習 データ",
  "再学習トレーニングv2",
  "재학습 작업",
  "प्रशिक्षण",
  "إعادة التدريب",
  "תזכורת-1",
  "Việt Nam",
  "ฝึกใหม่",
  "ทดสอบ ๓",
  "µm",
  "a. b - c_d",
  "x".repeat(64),
];
const bad: [name: string, detail: RegExp][] = [
  ["", /./],
  [" a", /a letter or digit first: found " a"/],
  ["a ", /found "a "/],
  ["a  b", /single spaces.*found "a {2}b"/],
  ["-a", /found "-a"/],
  ["a/b", /found "\/" \(U\+002F\)/],
  ["a\nb", /found U\+000A/],
  ["a\u0000b", /found U\+0000/],
  ["a\u00a0b", /\(U\+00A0\)/],
  ["a\u202eb", /found U\+202E/],
  ["a\u2066b", /found U\+2066/],
  ["a\u200bb", /found U\+200B/],
  ["a\u200db", /found U\+200D/],
  ["a\ufeff", /found U\+FEFF/],
  ["a\u034fb", /found U\+034F/],
  ["a\ufe0f", /found U\+FE0F/],
  ["\u3164", /found U\+3164/],
  ["a\ud800", /found U\+D800/],
  ["\ue000", /found U\+E000/],
  ["a😊", /found "😊" \(U\+1F60A\)/],
  ["\u0301a", /found "\u0301a"/],
  ["a\u0316\u0317\u0318\u0319", /found/],
  ["retr\u0430in", /one alphabet in a word, found "Latin", "Cyrillic" in "retr\u0430in"/],
  ["p\u03bfst", /found "Latin", "Greek"/],
  ["v1\u0661", /digits of one script/],
  ["x".repeat(65), /at most 64 characters/],
  ["\u0958".repeat(40), /at most 64 characters/],
];
/** Names of which a second one is refused beside the first. */
const alike: [first: string, ...others: string[]][] = [
  ["Straße", "STRASSE", "strasse"],
  ["Deploy", "deploy", "DEPLOY", "ｄｅｐｌｏｙ"],
  ["cop", "\u0441\u043e\u0440", "\u0421\u041e\u0420"],
  ["ΟΔΟΣ", "οδος"],
  ["Zürich", "Zu\u0308rich", "ZÜRICH"],
];

async function save(service: TestService, name: string) {
  return await service.api("POST", "triggers/", { ...SETTINGS, name });
}

Deno.test("a name of a trigger has letters of any script, and none that deceives", async (t) => {
  await using service = await startService();
  await t.step("good ones are kept as they are written", async () => {
    for (const name of good) {
      const { status, body } = await save(service, name);
      assertEquals([status, body.name], [201, name.normalize("NFC")], JSON.stringify(body));
    }
  });
  await t.step("others are refused, and the error says why", async () => {
    for (const [name, detail] of bad) {
      const { status, body } = await save(service, name);
      assertEquals([status, body.errors?.[0].pointer], [422, "/name"], JSON.stringify(name));
      assertMatch(body.errors[0].detail, detail, JSON.stringify(name));
      assertEquals(body.errors.length, 1, JSON.stringify(body.errors));
    }
    const like = await save(service, "０１２３４５６７８９ａｂｃｄｅｆ");
    assertMatch(like.body.errors[0].detail, /does not look like an id/);
  });
  await t.step("none looks like another", async () => {
    for (const [first, ...others] of alike) {
      const { status, body: { id } } = await save(service, first);
      assertEquals(status, 201, first);
      for (const name of others) {
        const { status, body } = await save(service, name);
        assertEquals(status, 409, name);
        assertMatch(body.detail, /looks like the name of another one|another one is named/);
      }
      // Its own name may change so, and what it leaves is free again.
      const [other = ""] = others;
      const renamed = await service.api("PATCH", `triggers/${id}/`, { name: other });
      assertEquals(renamed.status, 200, JSON.stringify(renamed.body));
      assertEquals((await save(service, first)).status, 409, first);
      assertEquals((await service.api("PATCH", `triggers/${id}/`, { name: `${id}x` })).status, 200);
      const free = await save(service, first);
      assertEquals(free.status, 201, first);
      await service.api("DELETE", `triggers/${free.body.id}/`);
      const again = await save(service, other);
      assertEquals(again.status, 201, other);
      await service.api("DELETE", `triggers/${again.body.id}/`);
    }
  });
});

Deno.test("what an earlier version stored has no likeness, and is not taken for another", async () => {
  await using service = await startService();
  const { id } = (await save(service, "older")).body;
  const { kv } = service.service.parts.store;
  await kv.delete(["trigger_likeness", "older"]);
  assertEquals((await save(service, "Older")).status, 409);
  assertEquals((await service.api("PATCH", `triggers/${id}/`, { enabled: false })).status, 200);
  assertEquals((await service.api("PATCH", `triggers/${id}/`, { name: "newer" })).status, 200);
  assertEquals((await save(service, "Older")).status, 201);
});

const NAMES = ["Neue Bestellung", "再学習 データ", "إعادة التدريب", "O.o-_1"];

Deno.test("each place takes the names of triggers", async (t) => {
  await using service = await startService();
  const ids = new Map<string, string>();
  for (const name of NAMES) {
    const { body } = await save(service, name);
    ids.set(name, body.id);
    assertEquals(new URL(body.url).pathname, `/api/v0/launch/${body.id}/`);
    const answer = await fetch(body.url, { method: "POST", body: "{}" });
    assertEquals(answer.status, 200, await answer.text());
  }
  const decomposed = "Zu\u0308rich";
  await save(service, decomposed);

  await t.step("the API, percent-encoded", async () => {
    for (const [name, id] of ids) {
      for (const list of ["triggers/?name=", "deliveries/?trigger=", "runs/?trigger="]) {
        const { status, body } = await service.api("GET", list + encodeURIComponent(name));
        assertEquals([status, body.results.length], [200, 1], `${list}${name}`);
        const [{ trigger_id, id: own }] = body.results;
        assertEquals(trigger_id ?? own, id);
      }
    }
    const { body } = await service.api("GET", `triggers/?name=${encodeURIComponent(decomposed)}`);
    assertEquals(body.results[0].name, "Z\u00fcrich");
    const unknown = await service.api("GET", "deliveries/?trigger=a%20b");
    assertMatch(unknown.body.errors[0].detail, /found "a b", which no trigger has/);
  });
  await t.step("a token that is limited to one", async () => {
    const made = await service.api("POST", "tokens/", {
      name: "one",
      scope: "read",
      triggers: ["Neue Bestellung", decomposed],
    });
    const answer = await fetch(`${service.url}/api/v0/triggers/`, {
      headers: { authorization: `Bearer ${made.body.token}` },
    });
    const { results } = await answer.json();
    assertEquals(results.map(({ name }: { name: string }) => name).sort(), [
      "Neue Bestellung",
      "Zürich",
    ]);
  });
  await t.step("pages of the console", async () => {
    const browser = await loggedIn(service);
    const list = await browser.get("triggers");
    for (const [name, id] of ids) {
      const [, href = ""] = new RegExp(`href="([^"]*)">${RegExp.escape(name)}</a>`).exec(
        list.text,
      ) ?? [];
      assertEquals(href, name === "O.o-_1" ? `triggers/${name}` : `triggers/${id}`);
      const page = await browser.get(href);
      assertEquals(page.status, 200, name);
      assertStringIncludes(page.text, `<h1>${name}</h1>`);
      const edit = await browser.get(`${href}/edit`);
      assertEquals(edit.status, 200, name);
      // A login leads back to it.
      const login = await browser.get(`login?to=${encodeURIComponent(href)}`);
      assert(login.status === 303 || login.text.includes(href), name);
      const csrf = await browser.csrf();
      const changed = await browser.post(`triggers/${id}/enable`, { csrf, enabled: "true" });
      assertMatch(changed.headers.get("location") ?? "", new RegExp(`${RegExp.escape(href)}$`));
      const query = new URLSearchParams({ trigger: name });
      const deliveries = await browser.get(`deliveries?${query}`);
      assertStringIncludes(deliveries.text, `<td>${name}</td>`);
    }
  });
  await t.step("the command line, quoted", async () => {
    const list = await runHosted(["trigger", "list", "--url", service.url], TOKEN);
    // Characters of two columns are counted as two.
    const columns = list.printed.split("\n").filter((line) => /再学習|Neue/.test(line));
    assertEquals(
      columns.map((line) => line.replace(/再学習 データ/, "xxxxxx xxxxxx").indexOf("files")),
      [
        columns[0]?.indexOf("files"),
        columns[0]?.indexOf("files"),
      ],
    );
    for (const [name, id] of ids) {
      const shown = await runHosted(["trigger", "show", name, "--url", service.url], TOKEN);
      assertEquals(shown.code, 0, shown.printed);
      assertStringIncludes(shown.printed, id);
    }
    const unknown = await runHosted(["send", "Neue Bestellung 2", "--url", service.url], TOKEN);
    assertMatch(
      unknown.printed,
      /There is no trigger "Neue Bestellung 2"; there are: .*再学習 データ/,
    );
    const removed = ["trigger", "delete", "Neue Bestellung", "--yes", "--url", service.url];
    assertStringIncludes(
      (await runHosted(removed, TOKEN)).printed,
      "hooklaunch runs --trigger 'Neue Bestellung'",
    );
    const runs = await runHosted(
      ["runs", "--trigger", "Neue Bestellung", "--url", service.url],
      TOKEN,
    );
    assertEquals(runs.code, 0, runs.printed);
  });
  await t.step("configuration files: what is exported is applied again", async () => {
    const exported = await runHosted(["export", "--url", service.url], TOKEN);
    const file = `${service.folder}/hooklaunch.yaml`;
    await Deno.writeTextFile(file, exported.printed);
    const plan = await runHosted(["apply", file, "--plan", "--url", service.url], TOKEN);
    assertEquals(plan.code, 0, plan.printed);
    assertMatch(plan.printed, /[Nn]othing|no change/i);
    const twice =
      "triggers: [{ name: Ä b, project: files, actions: &a [{ type: fetch_repository }] },\n" +
      '  { name: "A\u0308 b", project: files, actions: *a }]\n';
    await Deno.writeTextFile(file, twice);
    const refused = await runHosted(["apply", file, "--url", service.url], TOKEN);
    assertEquals(refused.code, 1);
    assertMatch(refused.printed, /Ä b/);
  });
});
