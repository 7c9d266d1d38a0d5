/** Scopes, limits and expiry of operators' tokens, and the slow-down of guessers. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { setImmediate } from "node:timers";
import { operations } from "../../../src/http/api/mod.ts";
import { type Access, scopeOf } from "../../../src/http/api/access.ts";
import { isSameAccess } from "../../../src/http/api/grants.ts";
import { WRONG_TOKENS_MAX, WrongTokens } from "../../../src/http/api/wrong_tokens.ts";
import {
  ADMIN_TOKEN,
  endOfExecution,
  HMAC_CONDITION,
  signature,
  startService,
} from "../../data.ts";
import { play } from "../scenario.ts";

type Running = Awaited<ReturnType<typeof startService>>;

/** Makes a token; returns a function that sends a request with it. */
async function withToken(service: Running, settings: Record<string, unknown>) {
  const { status, body: { token } } = await service.api("POST", "tokens/", settings);
  assertEquals(status, 201);
  return async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${service.url}/api/v0/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };
}

/** Launches a trigger; returns the ids of its run and execution. */
async function launched(service: Running, url: string) {
  const answer = await fetch(url, { method: "POST", body: "a", headers: signature("a") });
  const run = await answer.text();
  const info = await fetch(`${url}run/`, {
    method: "POST",
    body: `run_id=${run}&wait=10`,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...signature(`run_id=${run}&wait=10`),
    },
  });
  const { result: [{ execution_id: execution }] } = await info.json();
  await endOfExecution(service, execution);
  return { run, execution };
}

const TRIGGER = {
  conditions: [HMAC_CONDITION],
  response: { type: "text", text: "{run_id}" },
};

Deno.test("each scope allows what it says, and no more", async (t) => {
  await using service = await startService();
  const { id, url } = await service.trigger(TRIGGER);
  const { run } = await launched(service, url);
  const cases: [method: string, path: string, needed: string, body?: unknown][] = [
    ["GET", "triggers/", "read"],
    ["GET", `triggers/${id}/`, "read"],
    ["GET", `runs/${run}/payload/`, "read"],
    ["GET", "tokens/", "admin"],
    ["GET", "audit/", "admin"],
    ["POST", `triggers/${id}/test/`, "operate", { body: "a" }],
    ["POST", `runs/${run}/replay/`, "operate"],
    ["PATCH", `triggers/${id}/`, "admin", { enabled: true }],
    ["POST", "tokens/", "admin", { name: "another" }],
    ["DELETE", "projects/none/", "admin"],
  ];
  const scopes = ["read", "operate", "admin"];
  for (const [index, scope] of scopes.entries()) {
    const send = await withToken(service, { name: scope, scope });
    for (const [method, path, needed, body] of cases) {
      await t.step(`${scope}: ${method} ${path}`, async () => {
        const { status, body: answer } = await send(method, path.replace("payload/", ""), body);
        if (index >= scopes.indexOf(needed)) return assert(![401, 403].includes(status));
        assertEquals(status, 403);
        assertMatch(answer.detail, new RegExp(`needs a token with the scope "${needed}"`));
      });
    }
  }
});

Deno.test("access is the same as before with the same scope and limits alone", () => {
  const before = { name: "a", scope: "read", triggers: ["t"], projects: ["p"] } as const;
  const cases: [now: Access | undefined, isSame: boolean][] = [
    [{ ...before, name: "b" }, true],
    [{ ...before, scope: "admin" }, false],
    [{ ...before, triggers: ["t", "u"] }, false],
    [{ ...before, projects: ["q"] }, false],
    [{ name: "a", scope: "read" }, false],
    [undefined, false],
  ];
  for (const [now, isSame] of cases) assertEquals(isSameAccess(now, before), isSame);
});

Deno.test("every change needs more than the scope read", () => {
  const open = operations.filter((each) => each.method !== "get" && scopeOf(each) === "read");
  assertEquals(open.map(({ id }) => id), []);
});

Deno.test("a limited token sees and reaches its triggers and projects alone", async () => {
  await using service = await startService();
  const mine = await service.trigger({ ...TRIGGER, name: "mine" });
  const other = await service.trigger({ ...TRIGGER, name: "other" });
  const ours = await launched(service, mine.url);
  const theirs = await launched(service, other.url);
  const send = await withToken(service, { name: "ci", scope: "admin", triggers: ["mine"] });
  const statuses = async (...paths: string[]) =>
    await Promise.all(paths.map(async (path) => (await send("GET", path)).status));
  assertEquals(
    await statuses(`triggers/${mine.id}/`, `runs/${ours.run}/`, `executions/${ours.execution}/`),
    [200, 200, 200],
  );
  assertEquals(
    await statuses(
      `triggers/${other.id}/`,
      `triggers/${other.id}/log/`,
      `runs/${theirs.run}/`,
      `executions/${theirs.execution}/`,
      `executions/${theirs.execution}/log/`,
      "tokens/",
      "audit/",
    ),
    [403, 403, 403, 403, 403, 403, 403],
  );
  const names = async (path: string, field: string) =>
    (await send("GET", path)).body.results.map((each: Record<string, unknown>) => each[field]);
  assertEquals(await names("triggers/", "name"), ["mine"]);
  assertEquals(await names("executions/", "id"), [ours.execution]);
  assertEquals((await send("DELETE", `triggers/${other.id}/`)).status, 403);
  assertEquals((await send("POST", "tokens/", { name: "wider" })).status, 403);

  const foreign = await withToken(service, { name: "far", projects: ["elsewhere"] });
  assertEquals((await foreign("GET", `triggers/${mine.id}/`)).status, 403);
  assertEquals((await foreign("GET", "executions/")).body.results, []);
});

Deno.test("a token expires, and the list says when it was last used", async () => {
  await using service = await startService();
  const used = await withToken(service, { name: "used", scope: "read" });
  assertEquals((await used("GET", "triggers/")).status, 200);
  const past = new Date(Date.now() - 1_000).toISOString();
  const expired = await withToken(service, { name: "expired", expires_at: past });
  assertEquals((await expired("GET", "triggers/")).status, 401);
  const { body: { results } } = await service.api("GET", "tokens/");
  const of = (wanted: string) => results.find(({ name }: { name: string }) => name === wanted);
  assert(Math.abs(Date.parse(of("used").last_used_at) - Date.now()) < 60_000);
  assertEquals(of("expired").last_used_at, undefined);
  assertEquals(of("expired").expires_at, past);
});

Deno.test("a token with a scope or a limit that does not exist is refused", async () => {
  await using service = await startService();
  const cases: [settings: Record<string, unknown>, pointer: string][] = [
    [{ scope: "all" }, "/scope"],
    [{ triggers: [] }, "/triggers"],
    [{ projects: [""] }, "/projects/0"],
    [{ expires_at: "tomorrow" }, "/expires_at"],
  ];
  for (const [settings, pointer] of cases) {
    const { status, body } = await service.api("POST", "tokens/", { name: "bad", ...settings });
    assertEquals([status, body.errors[0].pointer], [422, pointer]);
  }
});

Deno.test("an address that sends many wrong tokens is refused for a while, the right one too", async () => {
  await using service = await startService();
  const ask = (token: string, expectedStatus: number) =>
    play(service.url, {
      name: token,
      method: "GET",
      path: "/api/v0/triggers/",
      headers: { authorization: `Bearer ${token}` },
      expectedStatus,
    });
  for (let wrong = 0; wrong < WRONG_TOKENS_MAX; wrong++) await ask(`wrong-${wrong}`, 401);
  const refused = await ask("wrong", 429);
  assertMatch(refused.headers.get("retry-after") ?? "", /^\d+$/);
  assertEquals((await service.api("GET", "triggers/")).status, 429);
});

Deno.test("wrong tokens are counted by the network that a proxy names", async () => {
  await using service = await startService({ settings: { trustedProxies: ["127.0.0.1"] } });
  const ask = async (address: string, token: string): Promise<number> => {
    const answer = await fetch(`${service.url}/api/v0/triggers/`, {
      headers: {
        authorization: `Bearer ${token}`,
        "x-forwarded-for": address,
        "x-forwarded-proto": "https",
      },
    });
    await answer.body?.cancel();
    return answer.status;
  };
  for (let wrong = 0; wrong < WRONG_TOKENS_MAX; wrong++) {
    assertEquals(await ask(`2001:db8::${wrong}`, "wrong"), 401);
    assertEquals(await ask("unreadable", "wrong"), 401);
  }
  assertEquals(await ask("2001:0DB8::ffff:1", ADMIN_TOKEN), 429);
  assertEquals(await ask("2001:db8:0:1::1", ADMIN_TOKEN), 200);
  assertEquals([await ask("unreadable", "wrong"), await ask("other", ADMIN_TOKEN)], [429, 200]);
});

Deno.test("tokens that come at once are no more guesses than those that come one by one", async () => {
  const tokens = new WrongTokens({ steady: () => 0 });
  let looks = 0;
  const send = (find: () => string | undefined) => {
    const look = () =>
      tokens.look("192.0.2.1", async () => {
        looks++;
        await new Promise<void>((done) => setImmediate(done));
        return find();
      });
    return Promise.allSettled(Array.from({ length: 200 }, look));
  };
  // The right tokens of a busy network wait for each other, and none is refused.
  for (const each of await send(() => "right")) {
    assertEquals(each, { status: "fulfilled", value: { found: "right", wait_s: 0 } });
  }
  const unknown = () => {
    throw new Error("The database is away");
  };
  for (const { status } of await send(unknown)) assertEquals(status, "rejected");
  assertEquals(looks, 400);
  await send(() => undefined);
  assertEquals(looks, 400 + WRONG_TOKENS_MAX);
  const right = await tokens.look("192.0.2.1", () => Promise.resolve("right"));
  assertEquals(right, { wait_s: 60 });
});

Deno.test("wrong tokens are counted by network and minute", async () => {
  const clock = { now_ms: 0, steady: () => clock.now_ms };
  const wrong = new WrongTokens(clock);
  const wrongFrom = (address: string) => wrong.look(address, () => Promise.resolve(undefined));
  const rightFrom = (address: string) => wrong.look(address, () => Promise.resolve("right"));
  const found = { found: "right", wait_s: 0 };
  const networks: [first: string, ...others: string[]][] = [
    ["192.0.2.1", "::ffff:192.0.2.1", "0:0:0:0:0:FFFF:c000:201"],
    ["2001:db8::1", "2001:0DB8::0:2", "2001:db8:0:0:ffff:ffff:ffff:ffff"],
  ];
  for (const addresses of networks) {
    clock.now_ms = 0;
    for (let count = 0; count < WRONG_TOKENS_MAX; count++) {
      await wrongFrom(addresses[count % addresses.length] ?? "");
    }
    for (const address of addresses) assertEquals(await rightFrom(address), { wait_s: 60 });
    for (const other of ["192.0.2.2", "2001:db8:0:1::1"]) {
      assertEquals(await rightFrom(other), found);
    }
    clock.now_ms = 59_000;
    assertEquals(await rightFrom(addresses[0]), { wait_s: 1 });
    clock.now_ms = 60_000;
    assertEquals(await rightFrom(addresses[0]), found);
  }
});
