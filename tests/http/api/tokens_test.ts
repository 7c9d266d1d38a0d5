/** The operators' tokens: who may come in, and who can lock out whom. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Service } from "../../../src/service/service.ts";
import { createToken, tokenHash } from "../../../src/store/records/tokens.ts";
import { startService } from "../../data.ts";
import { play, type Scenario } from "../scenario.ts";

Deno.test("a token is made, shown once, listed without itself, and revoked", async () => {
  await using service = await startService();
  const made = await service.api("POST", "tokens/", { name: "ci" });
  assertEquals(made.status, 201);
  const { id, token, created_at } = made.body;
  assertMatch(token, /^hl_[\w-]{43}$/);
  assertMatch(id, /^[0-9a-f]{16}$/);
  assertEquals(made.headers.get("location"), `${service.url}/api/v0/tokens/${id}/`);
  const list = await service.api("GET", "tokens/");
  assertEquals(list.body, {
    results: [{ id, name: "ci", scope: "admin", created_at }],
    next: null,
  });
  const comeIn = (expectedStatus: number) =>
    play(service.url, {
      name: "with the token",
      method: "GET",
      path: "/api/v0/triggers/",
      headers: { authorization: `Bearer ${token}` },
      expectedStatus,
    });
  await comeIn(200);
  assertEquals((await service.api("DELETE", `tokens/${id}/`)).status, 204);
  await comeIn(401);
  assertEquals((await service.api("DELETE", `tokens/${id}/`)).status, 404);
  assertEquals((await service.api("GET", "tokens/")).body.results, []);
});

Deno.test("a token that cannot be made is refused", async () => {
  await using service = await startService();
  await service.api("POST", "tokens/", { name: "ci" });
  assertEquals((await service.api("POST", "tokens/", { name: "ci" })).status, 409);
  const bad = await service.api("POST", "tokens/", { name: "a b", scope: "all" });
  assertEquals(bad.status, 422);
  assertEquals(
    bad.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(),
    ["/name", "/scope"],
  );
});

Deno.test("with HOOKLAUNCH_ADMIN_TOKEN a token may revoke itself", async () => {
  await using service = await startService();
  const { body: { id, token } } = await service.api("POST", "tokens/", { name: "ci" });
  await play(service.url, {
    name: "itself",
    method: "DELETE",
    path: `/api/v0/tokens/${id}/`,
    headers: { authorization: `Bearer ${token}` },
    expectedStatus: 204,
  });
});

Deno.test("of tokens that are asked for by one name at the same time, one is made", async () => {
  await using service = await startService();
  const made = await Promise.all(
    Array.from({ length: 20 }, () => service.api("POST", "tokens/", { name: "ci" })),
  );
  assertEquals(made.filter(({ status }) => status === 201).length, 1);
  assertEquals((await service.api("GET", "tokens/")).body.results.length, 1);
});

Deno.test("without HOOKLAUNCH_ADMIN_TOKEN a token cannot revoke itself, so one that works stays", async (t) => {
  await using other = await startService();
  const { adminToken: _none, ...settings } = other.service.parts.settings;
  await other.service.close(0);
  const service = await Service.start(settings, {
    clock: other.service.parts.clock,
    env: () => undefined,
  });
  try {
    const first = service.parts.newToken ?? "";
    const path = "/api/v0/tokens/";
    const headers = (token: string) => ({ authorization: `Bearer ${token}` });
    const send = async (method: string, token: string, body?: string) => {
      const init = body === undefined ? {} : { body };
      return await (await fetch(service.url + path, { method, headers: headers(token), ...init }))
        .json();
    };
    const { results: [{ id, name, created_at }] } = await send("GET", first);
    assertEquals(name, "first");
    assert(Math.abs(Date.now() - Date.parse(created_at)) < 60_000, created_at);
    const { token: second } = await send("POST", first, '{"name": "second"}');
    assert(second);
    // As hooklaunch login makes one in a session that was opened with the first token.
    const byLogin = await createToken(service.parts.store, {
      name: "first on desk",
      created_at,
      granted_by: { token_hash: tokenHash(first) },
    });
    const scenarios: Scenario[] = [
      {
        name: "what its login rests on",
        path: `${path}${id}/`,
        headers: headers(byLogin),
        expectedStatus: 409,
        expectedContent: ["the login of this request rests on it"],
      },
      {
        name: "itself",
        path: `${path}${id}/`,
        headers: headers(first),
        expectedStatus: 409,
        expectedContent: ["this request uses it"],
      },
      { name: "another one", path: `${path}${id}/`, headers: headers(second), expectedStatus: 204 },
      { name: "it is out", method: "GET", path, headers: headers(first), expectedStatus: 401 },
    ];
    for (const scenario of scenarios) {
      await t.step(scenario.name, async () => {
        await play(service.url, { method: "DELETE", ...scenario });
      });
    }
  } finally {
    await service.close(0);
  }
  const { clock, env } = other.service.parts;
  const again = await Service.start(settings, { clock, env });
  const { newToken } = again.parts;
  await again.close(0);
  assertEquals(newToken, undefined, "there is one already");
});

Deno.test("null in a new token's settings is refused: it would allow more", async (t) => {
  await using service = await startService();
  for (const name of ["scope", "triggers", "projects", "expires_at"]) {
    await t.step(name, async () => {
      const made = await service.api("POST", "tokens/", { name: "ci", [name]: null });
      assertEquals([made.status, made.body.errors[0].pointer], [422, `/${name}`]);
    });
  }
  assertEquals((await service.api("GET", "tokens/")).body.results, []);
});
