/** `POST triggers/<id>/diagnose/`: the signature doctor over HTTP, for operators alone and within limits. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { ADMIN_TOKEN, SECRET, startService, type TestService } from "../../data.ts";
import { TestClock } from "../../surroundings.ts";

const GITHUB = { type: "hmac", preset: "github", secrets: ["{env:GITHUB}"] };
const BODY = '{"action":"opened"}';
const NOT_FOUND = "0190fe82-c984-7f66-8302-69874914e1c9";

/** A request as GitHub sends it. */
function pasted(body = BODY, secret = SECRET) {
  const mac = createHmac("sha256", secret).update(BODY).digest("hex");
  const headers = { "X-Hub-Signature-256": `sha256=${mac}`, "Content-Type": "application/json" };
  return { headers, body: new TextEncoder().encode(body).toBase64() };
}

async function diagnose(service: TestService, id: string, body: unknown) {
  return await service.api("POST", `triggers/${id}/diagnose/`, body);
}

Deno.test("the doctor answers findings about a pasted request, with secrets as the service has them", async () => {
  await using service = await startService({ env: { GITHUB: `${SECRET}\n` } });
  const { id } = await service.trigger({ conditions: [GITHUB] });
  const { status, body } = await diagnose(service, id, pasted());
  assertEquals(status, 200);
  assertEquals(body.findings, [{
    sentence:
      "Signed with the secret without the white space around it: remove the white space, such as a " +
      "line's end, around the trigger's secret.",
    condition: "hmac",
    index: 0,
    certainty: "matches",
  }]);
});

Deno.test("the doctor says what does not belong in a request, and of what there is nothing", async (t) => {
  await using service = await startService({ env: { GITHUB: SECRET } });
  const { id } = await service.trigger({ conditions: [GITHUB] });
  const cases: [name: string, id: string, body: unknown, status: number, words: string][] = [
    ["no trigger", NOT_FOUND, pasted(), 404, "There is no trigger"],
    ["nothing", id, {}, 422, "/headers"],
    ["another field", id, { ...pasted(), secret: "x" }, 422, "secret"],
    ["no base64", id, { ...pasted(), body: "{}" }, 422, "/body"],
    ["a header of two lines", id, { ...pasted(), headers: { a: "b\nc" } }, 422, "/headers/a"],
    ["no URL", id, { ...pasted(), url: "ftp://x" }, 422, "/url"],
    ["no time", id, { ...pasted(), received_at: "noon" }, 422, "/received_at"],
    ["a long body", id, { ...pasted(), body: "AAAA".repeat(400_000) }, 422, "/body"],
    ["a longer body", id, { ...pasted(), body: "AAAA".repeat(800_000) }, 413, "at most 2 MiB"],
  ];
  for (const [name, trigger, body, status, words] of cases) {
    await t.step(name, async () => {
      const found = await diagnose(service, trigger, body);
      assertEquals(found.status, status, JSON.stringify(found.body));
      assertStringIncludes(JSON.stringify(found.body), words);
    });
  }
  const anybody = await fetch(`${service.url}/api/v0/triggers/${id}/diagnose/`, { method: "POST" });
  await anybody.body?.cancel();
  assertEquals(anybody.status, 401);
});

Deno.test("a token needs the scope operate, and one that is limited learns nothing of other triggers", async () => {
  await using service = await startService({ env: { GITHUB: SECRET } });
  const other = await service.trigger({ name: "other", conditions: [GITHUB] });
  const conditions = [{ ...GITHUB, secrets: ["the secret of this one"] }];
  const { id } = await service.trigger({ name: "own", conditions });
  const all = await diagnose(service, id, pasted());
  assertStringIncludes(all.body.findings[0].sentence, 'The secret is that of trigger "other"');
  const tokenOf = async (settings: unknown) =>
    (await service.api("POST", "tokens/", settings)).body.token;
  const ask = async (token: string, trigger: string) => {
    const answer = await fetch(`${service.url}/api/v0/triggers/${trigger}/diagnose/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(pasted()),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const reader = await tokenOf({ name: "reader", scope: "read" });
  assertEquals((await ask(reader, id)).status, 403);
  const limited = await tokenOf({ name: "limited", scope: "operate", triggers: ["own"] });
  assertEquals((await ask(limited, other.id)).status, 403);
  const { status, text } = await ask(limited, id);
  assertEquals(status, 200);
  assertStringIncludes(text, "the secret is another endpoint's");
  assert(!text.includes('"other"'), text);
});

Deno.test("a token asks for 10 diagnoses a minute, and a trigger has one at a time", async () => {
  const clock = new TestClock(Date.now());
  await using service = await startService({ env: { GITHUB: SECRET }, clock });
  const { id } = await service.trigger({ conditions: [GITHUB] });
  // Long enough that the others come while the first is diagnosed.
  const rows = Array.from({ length: 20_000 }, (_, place) => `row ${place}`);
  const long = JSON.stringify({ action: "opened", rows }, undefined, 2);
  const together = await Promise.all([0, 1, 2].map(() => diagnose(service, id, pasted(long))));
  const busy = together.filter(({ status }) => status === 429);
  assert(busy.length >= 1, "they ran at the same time");
  for (const { headers } of busy) assertEquals(headers.get("retry-after"), "1");
  for (let count = together.length - busy.length; count < 10; count++) {
    assertEquals((await diagnose(service, id, pasted())).status, 200, `diagnosis ${count}`);
  }
  const refused = await diagnose(service, id, pasted());
  assertEquals(refused.status, 429);
  assert(Number(refused.headers.get("retry-after")) > 50);
  clock.time_ms += 60_000;
  assertEquals((await diagnose(service, id, pasted())).status, 200);
});

Deno.test("a body of 1 MiB is diagnosed in its time while launches go on", async () => {
  await using service = await startService({ env: { GITHUB: SECRET } });
  const { id } = await service.trigger({ conditions: [GITHUB] });
  const free = await service.trigger();
  const long = JSON.stringify({
    text: Array.from({ length: 60_000 }, (_, place) => `row ${place}`),
  });
  const answer = diagnose(service, id, pasted(long.slice(0, 1024 * 1024), "another one"));
  const launch = await fetch(free.url, { method: "POST", body: "x" });
  await launch.body?.cancel();
  assertEquals(launch.status, 200);
  const { status, body } = await answer;
  assertEquals(status, 200);
  const sentences = body.findings.map(({ sentence }: { sentence: string }) => sentence).join("\n");
  assertStringIncludes(sentences, "the secret is another endpoint's");
  assert(/Not all was tried|for all of its other forms/.test(sentences), sentences);
  assert(!sentences.includes(ADMIN_TOKEN) && !sentences.includes(SECRET), sentences);
});
