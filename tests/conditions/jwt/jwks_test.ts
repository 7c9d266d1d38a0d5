/**
 * Keys are fetched when they are needed and seldom otherwise, from a real server; whatever the server
 * does, the answer is some keys or none and a problem.
 */
import { assert, assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import { isJwksUrl, RemoteKeys } from "../../../src/conditions/jwt/jwks.ts";
import { type Network, systemNetwork } from "../../../src/platform/network/connection.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { TestClock } from "../../surroundings.ts";
import { NOW_MS } from "../fixture.ts";
import { Issuer, p256 } from "./issuer.ts";

const first = p256("first").publicKey;
const second = p256("second").publicKey;

/** Here, this machine's own address stands for one of the public internet. */
const PUBLIC: Network = { ...systemNetwork, isPublic: (address) => address === "127.0.0.1" };

/** The ids of the keys that are found. */
async function find(keys: RemoteKeys, kid?: string): Promise<(string | undefined)[]> {
  const found = await keys.find((key) => kid === undefined || key.kid === kid);
  return found.map((key) => key.kid);
}

function remoteKeys(issuer: Issuer, signal: AbortSignal = new AbortController().signal) {
  const clock = new TestClock(NOW_MS);
  return { clock, keys: new RemoteKeys(issuer.url, { clock, signal, network: PUBLIC }) };
}

Deno.test("RemoteKeys fetches once for many that ask at once, and keeps the keys", async () => {
  await using issuer = new Issuer([first, second]);
  const { keys, clock } = remoteKeys(issuer);
  const all = await Promise.all(Array.from({ length: 20 }, () => find(keys, "first")));
  assertEquals(all.flat(), Array(20).fill("first"));
  clock.time_ms += 599_000;
  assertEquals(await find(keys), ["first", "second"]);
  assertEquals(issuer.requests, 1);
});

Deno.test("RemoteKeys fetches again after ten minutes, and forgets keys that are gone", async () => {
  await using issuer = new Issuer([first]);
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys), ["first"]);
  issuer.publish(second);
  clock.time_ms += 600_000;
  assertEquals(await find(keys), ["second"]);
  assertEquals(await find(keys, "first"), []);
  assertEquals(issuer.requests, 2);
});

Deno.test("RemoteKeys fetches for a key it does not know, but not within 30 seconds", async () => {
  await using issuer = new Issuer([first]);
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys, "first"), ["first"]);
  issuer.publish(first, second);
  clock.time_ms += 29_999;
  for (let i = 0; i < 10; i++) assertEquals(await find(keys, "second"), []);
  assertEquals(issuer.requests, 1);
  clock.time_ms += 1;
  assertEquals(await find(keys, "second"), ["second"]);
  for (let i = 0; i < 10; i++) assertEquals(await find(keys, "third"), []);
  assertEquals(issuer.requests, 2);
});

Deno.test("RemoteKeys keeps the last good keys while the issuer is down", async () => {
  await using issuer = new Issuer([first]);
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys), ["first"]);
  issuer.respond = () => new Response("down", { status: 503 });
  clock.time_ms += 3_600_000;
  for (let i = 0; i < 10; i++) assertEquals(await find(keys), ["first"]);
  assertEquals(issuer.requests, 2);
  assertEquals(keys.problem, "expected status 200, found 503");
  issuer.publish(second);
  clock.time_ms += 30_000;
  assertEquals(await find(keys), ["second"]);
  assertEquals(keys.problem, undefined);
});

Deno.test("RemoteKeys has nobody wait long for an issuer that was down when it was last asked", async () => {
  const released = Promise.withResolvers<Response>();
  await using issuer = new Issuer([first]);
  using _answer = { [Symbol.dispose]: () => released.resolve(Response.json({ keys: [second] })) };
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys), ["first"]);
  issuer.respond = () => new Response("down", { status: 503 });
  clock.time_ms += 600_000;
  assertEquals(await find(keys), ["first"]);
  issuer.respond = () => released.promise;
  clock.time_ms += 30_000;
  for (let i = 0; i < 2; i++) assertEquals(await find(keys), ["first"]);
  assertEquals(issuer.requests, 3);
  // Not given up yet: nobody has waited until then.
  assertEquals(keys.problem, "expected status 200, found 503");
  released.resolve(Response.json({ keys: [second] }));
  assertEquals(await find(keys, "second"), ["second"]);
});

Deno.test("RemoteKeys waits for an issuer that is slow to come back while it has no keys at all", async () => {
  await using issuer = new Issuer([first]);
  issuer.respond = () => new Response("down", { status: 503 });
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys), []);
  issuer.respond = async () => {
    await delay(400);
    return Response.json({ keys: [first] });
  };
  clock.time_ms += 5_000;
  assertEquals(await find(keys), ["first"]);
});

Deno.test("RemoteKeys tries again after five seconds while it has no keys at all", async () => {
  await using issuer = new Issuer([first]);
  issuer.respond = () => new Response("down", { status: 503 });
  const { keys, clock } = remoteKeys(issuer);
  for (let i = 0; i < 10; i++) assertEquals(await find(keys), []);
  assertEquals(issuer.requests, 1);
  issuer.publish(first);
  clock.time_ms += 4_999;
  assertEquals(await find(keys), []);
  clock.time_ms += 1;
  assertEquals(await find(keys), ["first"]);
});

const set = JSON.stringify({ keys: [first] });
const answers: { name: string; respond: (request: Request) => Response; problem: RegExp }[] = [
  {
    name: "a redirect",
    respond: (request) =>
      new URL(request.url).pathname === "/elsewhere"
        ? new Response(set)
        : new Response(null, { status: 302, headers: { location: "/elsewhere" } }),
    problem: /^expected status 200, found 302$/,
  },
  {
    name: "no content",
    respond: () => new Response(null, { status: 204 }),
    problem: /^expected status 200, found 204$/,
  },
  {
    name: "a set over 256 KiB",
    respond: () => new Response(`${set}${" ".repeat(262_145 - set.length)}`),
    problem: /^expected at most 262144 bytes$/,
  },
  {
    name: "a set that never ends",
    respond: () => {
      const chunk = new Uint8Array(65_536).fill(0x20);
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
    },
    problem: /^expected at most 262144 bytes$/,
  },
  {
    name: "no JSON",
    respond: () => new Response("root-token of another"),
    problem: /^expected JSON, found something else$/,
  },
  {
    name: "JSON that is no set",
    respond: () => Response.json([first]),
    problem: /^expected a JSON object with a list of 'keys'$/,
  },
];

for (const { name, respond, problem } of answers) {
  Deno.test(`RemoteKeys takes no keys from ${name}`, async () => {
    await using issuer = new Issuer();
    issuer.respond = respond;
    const { keys } = remoteKeys(issuer);
    assertEquals(await find(keys), []);
    assertMatch(keys.problem ?? "no problem", problem);
    assertEquals(issuer.requests, 1);
  });
}

Deno.test("RemoteKeys takes a set of exactly 256 KiB", async () => {
  await using issuer = new Issuer();
  issuer.respond = () => new Response(`${set}${" ".repeat(262_144 - set.length)}`);
  assertEquals(await find(remoteKeys(issuer).keys), ["first"]);
});

Deno.test("RemoteKeys leaves out what is no public key", async () => {
  await using issuer = new Issuer();
  const { privateKey } = p256("private");
  const keys = [first, { kty: "oct", k: "c2VjcmV0" }, privateKey, null, "x", { kid: "no type" }];
  issuer.respond = () => Response.json({ keys });
  assertEquals(await find(remoteKeys(issuer).keys), ["first"]);
});

Deno.test("RemoteKeys tries no more than 16 keys on one token", async () => {
  await using issuer = new Issuer(Array.from({ length: 100 }, () => first));
  assertEquals((await find(remoteKeys(issuer).keys)).length, 16);
});

Deno.test("RemoteKeys ends a fetch when the service stops", async () => {
  const stop = new AbortController();
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<Response>();
  await using issuer = new Issuer();
  issuer.respond = () => {
    started.resolve();
    return released.promise;
  };
  const { keys } = remoteKeys(issuer, stop.signal);
  const found = find(keys);
  await started.promise;
  stop.abort(new Error("stopping"));
  assertEquals(await found, []);
  assertEquals(keys.problem, "stopping");
  released.resolve(new Response());
});

Deno.test("RemoteKeys ends a fetch that takes too long, its body included", async () => {
  const released = Promise.withResolvers<void>();
  await using issuer = new Issuer();
  issuer.respond = () => {
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode(set.slice(0, 20)));
        await released.promise;
        controller.close();
      },
    });
    return new Response(body);
  };
  const clock = new TestClock(NOW_MS);
  const signal = new AbortController().signal;
  const keys = new RemoteKeys(issuer.url, { clock, signal, timeout_ms: 50, network: PUBLIC });
  assertEquals(await find(keys), []);
  assertMatch(keys.problem ?? "no problem", /timeout|timed out/i);
  released.resolve();
});

Deno.test("RemoteKeys lets 256 wait for an issuer that hangs, and turns others away unless their key is known", async () => {
  await using issuer = new Issuer([first]);
  const { keys, clock } = remoteKeys(issuer);
  assertEquals(await find(keys), ["first"]);
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  issuer.respond = async () => {
    asked.resolve();
    await released.promise;
    return Response.json({ keys: [first, second] });
  };
  clock.time_ms += 30_000;
  const waiting = Array.from({ length: 256 }, () => find(keys, "second"));
  await asked.promise;
  const error = await assertRejects(() => find(keys, "second"), UnavailableError, "too many wait");
  assertEquals(error.retryAfter_s, 1);
  clock.time_ms += 600_000;
  assertEquals(await find(keys, "first"), ["first"]);
  clock.time_ms -= 600_000;
  released.resolve();
  assertEquals((await Promise.all(waiting)).flat(), Array(256).fill("second"));
  assertEquals(await find(keys, "second"), ["second"]);
  assertEquals(issuer.requests, 2);
});

Deno.test("RemoteKeys has no keys where nobody answers", async () => {
  const issuer = new Issuer();
  const { keys } = remoteKeys(issuer);
  await issuer[Symbol.asyncDispose]();
  const start_ms = performance.now();
  assertEquals(await find(keys), []);
  assert(keys.problem !== undefined, "has a problem");
  assertLess(performance.now() - start_ms, 4000);
});

const urls: { url: string; isAllowed: boolean }[] = [
  { url: "https://issuer.example/.well-known/jwks.json", isAllowed: true },
  { url: "http://localhost:8080/jwks", isAllowed: true },
  { url: "http://127.0.0.1/jwks", isAllowed: true },
  { url: "http://127.8.9.10/jwks", isAllowed: true },
  { url: "http://[::1]:8080/jwks", isAllowed: true },
  { url: "http://issuer.example/jwks", isAllowed: false },
  { url: "http://127.0.0.1.example/jwks", isAllowed: false },
  { url: "http://localhost.example/jwks", isAllowed: false },
  { url: "http://10.0.0.1/jwks", isAllowed: false },
  { url: "https://user:password@issuer.example/jwks", isAllowed: false },
  { url: "https://user@issuer.example/jwks", isAllowed: false },
  { url: "https://:password@issuer.example/jwks", isAllowed: false },
  { url: "file:///etc/jwks.json", isAllowed: false },
  { url: "data:application/json,{}", isAllowed: false },
  { url: "issuer.example/jwks", isAllowed: false },
  { url: "", isAllowed: false },
];

for (const { url, isAllowed } of urls) {
  Deno.test(`isJwksUrl: '${url}' is ${isAllowed ? "allowed" : "refused"}`, () => {
    assertEquals(isJwksUrl(url), isAllowed);
  });
}

Deno.test("RemoteKeys asks no address that is not public, unless an admin allows it", async () => {
  await using issuer = new Issuer([first]);
  const clock = new TestClock(NOW_MS);
  const { signal } = new AbortController();
  const { port } = new URL(issuer.url);
  const ofInside = ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"];
  for (const host of ofInside) {
    const keys = new RemoteKeys(`http://${host}:${port}/`, { clock, signal });
    assertEquals(await find(keys), []);
    assertEquals(
      keys.problem,
      "its host has no public address: to allow others, set private_networks of the condition to true",
    );
  }
  const rebound: Network = { ...systemNetwork, resolve: () => Promise.resolve(["127.0.0.1"]) };
  const named = new RemoteKeys(`http://public.example:${port}/`, {
    clock,
    signal,
    network: rebound,
  });
  assertEquals(await find(named), []);
  assertEquals(issuer.requests, 0);

  const allowed = new RemoteKeys(issuer.url, { clock, signal, privateNetworks: true });
  assertEquals(await find(allowed), ["first"]);
  // What answers inside is told to nobody.
  for (const status of [200, 401, 500]) {
    issuer.respond = () => new Response("root-token", { status });
    const asked = new RemoteKeys(issuer.url, { clock, signal, privateNetworks: true });
    assertEquals(await find(asked), []);
    assert(!/root|401|500/.test(asked.problem ?? ""), asked.problem);
  }
});

Deno.test("RemoteKeys closes the connection of an answer that it does not take", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const clock = new TestClock(NOW_MS);
  const { signal } = new AbortController();
  const { port } = listener.addr as Deno.NetAddr;
  for (const head of ["503 Down", "302 Found\r\nlocation: /", "200 OK"]) {
    const keys = new RemoteKeys(`http://127.0.0.1:${port}/`, { clock, signal, network: PUBLIC });
    const found = find(keys);
    const connection = await listener.accept();
    const bytes = new Uint8Array(65_536);
    await connection.read(bytes);
    const answer = `HTTP/1.1 ${head}\r\ncontent-length: 10000000\r\n\r\n`;
    await connection.write(new TextEncoder().encode(answer));
    if (head.startsWith("200")) await sendUntilClosed(connection);
    assertEquals(await found, []);
    // The end of the connection, or its reset: both say that it is closed.
    assertEquals(await connection.read(bytes).catch(() => null), null);
    connection.close();
  }
});

async function sendUntilClosed(connection: Deno.Conn): Promise<void> {
  const chunk = new Uint8Array(65_536).fill(0x20);
  for (let sent = 0; sent < 10_000_000; sent += chunk.length) {
    if (await connection.write(chunk).catch(() => undefined) === undefined) return;
  }
}
