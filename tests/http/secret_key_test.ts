/**
 * A service that is started with another key than its secrets were stored with: senders learn nothing of
 * it, the owner learns all, and can put it right.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startService } from "../data.ts";
import { REJECTED } from "./scenario.ts";

const KEYS = ["00", "11"].map((byte) => byte.repeat(32));
const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: ["let-me-in"] };

Deno.test("with another key, triggers with stored secrets refuse all, say why, and can be given new ones", async () => {
  const settings = { secretKey: KEYS[0] ?? "" };
  await using service = await startService({ settings });
  const literal = await service.trigger({ name: "literal", conditions: [TOKEN] });
  const open = await service.trigger({ name: "open" });
  settings.secretKey = KEYS[1] ?? "";
  await service.restart();

  // The port may be another one, the path stays.
  const send = async (url: string, path = "", token = "let-me-in") => {
    const headers = { "x-token": token };
    const { pathname } = new URL(url);
    const answer = await fetch(service.url + pathname + path, { method: "POST", headers });
    return { status: answer.status, text: await answer.text() };
  };
  assertEquals(await send(literal.url), { status: 400, text: REJECTED });
  assertEquals(await send(literal.url, "", ""), { status: 400, text: REJECTED });
  assertEquals(await send(literal.url, "run/?run_id=x"), { status: 400, text: REJECTED });
  assertEquals((await send(open.url)).status, 200);
  const ready = await fetch(`${service.url}/readyz`);
  assertEquals([ready.status, await ready.text()], [200, "ready\n"]);

  const path = `triggers/${literal.id}/`;
  const { body: { results } } = await service.api("GET", `${path}log/`);
  assertEquals(results.length, 3);
  assertEquals(results[0].condition, "secrets");
  assertStringIncludes(results[0].reason, "cannot be decrypted with this key");
  assertStringIncludes(results[0].reason, "/conditions/0/secrets/0");
  const tried = await service.api("POST", `${path}test/`, { headers: { "x-token": "let-me-in" } });
  assertEquals(tried.body.passed, false);
  assertEquals(tried.body.conditions[0].condition, "secrets");

  const read = await service.api("GET", path);
  assertEquals([read.status, read.body.conditions[0].secrets], [200, [{ value: "********" }]]);
  const same = await service.api("PUT", path, read.body);
  assertEquals(same.status, 422);
  assertEquals(same.body.errors[0].pointer, "/conditions/0/secrets/0");
  assertStringIncludes(same.body.errors[0].detail, "cannot be decrypted");
  const masked = { conditions: read.body.conditions };
  assertEquals((await service.api("PATCH", path, masked)).status, 422);
  const disabled = await service.api("PATCH", path, { enabled: false });
  assertEquals([disabled.status, disabled.body.enabled], [200, false]);
  assertEquals(disabled.body.conditions, read.body.conditions);
  assertEquals((await service.api("PATCH", path, { enabled: true })).status, 200);

  const conditions = [{ ...TOKEN, secrets: ["another-secret"] }];
  assertEquals((await service.api("PATCH", path, { conditions })).status, 200);
  assertEquals((await send(literal.url)).status, 400);
  assertEquals((await send(literal.url, "", "another-secret")).status, 200);
  const log = await service.api("GET", `${path}log/?limit=1`);
  assert(!log.body.results[0].reason.includes("decrypted"), "it is a wrong token now");
});
