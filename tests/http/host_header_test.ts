/**
 * The `Host` header: one that is no host is refused before anything is made of the request's path.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { refuseHost } from "../../src/http/host_header.ts";
import { answerPlain } from "../../src/http/challenge_port.ts";
import { Hops } from "../../src/http/hops.ts";
import { ADMIN_TOKEN, startService } from "../data.ts";
import { collectLog } from "../log_records.ts";
import { TestClock } from "../surroundings.ts";

/** Sends a request that has no body, byte for byte, and reads what is answered. */
async function ask(port: number, lines: readonly string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const text = [...lines, "Connection: close", "", ""].join("\r\n");
  await connection.write(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
  return await new Response(connection.readable).text();
}

Deno.test("a host is a name or an address, with a port or without", () => {
  const hosts = [
    "localhost",
    "hooks.example.com:8443",
    "a_b-c.example.",
    "xn--bcher-kva.example",
    "192.0.2.7:80",
    "[2001:db8::1]",
    "[::ffff:192.0.2.7]:443",
    "%C3%BC.example",
    "localhost:",
  ];
  for (const host of hosts) assertEquals(refuseHost(new Headers({ host })), undefined, host);
  assertEquals(refuseHost(new Headers()), undefined);
});

Deno.test("a host that would change the path is refused, before anything else is looked at", async (t) => {
  await using service = await startService();
  const { port } = service.service;
  const token = `Authorization: Bearer ${ADMIN_TOKEN}`;
  const hosts = [
    "x/api/v0/triggers/?limit=1&z=",
    "x/",
    "/healthz#",
    "x?",
    "x#",
    "x\\",
    "user@x",
    "x y",
    "x\ty",
    "x:80:80",
    "x:port",
    "x:800000",
    "::1",
    "[::1",
    "[::1]/",
    "[x]",
    "\xff",
    "",
  ];
  for (const host of hosts) {
    await t.step(JSON.stringify(host), async () => {
      const target = "GET /api/v0/launch/anything HTTP/1.1";
      const answer = await ask(port, [target, `Host: ${host}`, token]);
      assertMatch(answer, /^HTTP\/1\.1 400 /);
      assertStringIncludes(answer, "Expected the header Host to be a host");
    });
  }
  await t.step("other hosts are answered by the path that is asked for", async () => {
    for (const head of ["1.1\r\nHost: x", "1.1\r\nHost: [::1]:80", "1.0"]) {
      assertMatch(await ask(port, [`GET /healthz HTTP/${head}`]), /^HTTP\/1\.\d 200 [^]*ok\n$/);
    }
  });
});

Deno.test("a host that cannot be part of a URL changes nothing of what a sender is answered", async (t) => {
  await using service = await startService();
  const { port } = service.service;
  const token = {
    type: "static_token",
    in: "query",
    name: "token",
    secrets: ["s3cret in a query"],
  };
  const { id } = await service.trigger({ conditions: [token] });
  const query = "token=s3cret%20in+a+query";
  for (const host of ["192.0.2.7:99999", "300.1.1.1", "xn--a", "a%2fb", "[:::]"]) {
    await t.step(host, async () => {
      const send = (target: string) => ask(port, [`${target} HTTP/1.1`, `Host: ${host}`]);
      assertMatch(await send(`POST /api/v0/launch/${id}/?${query}`), /^HTTP\/1\.1 200 /);
      const runInfo = `GET /api/v0/launch/${id}/run/?run_id=${id}&${query}`;
      assertMatch(await send(runInfo), /^HTTP\/1\.1 404 /);
    });
  }
});

Deno.test("a host that cannot be part of a URL is refused where the URL counts, and nothing fails", async (t) => {
  await using service = await startService();
  await using log = await collectLog("error");
  const hops = new Hops("a-secret-of-all-instances", new TestClock());
  const parts = { challenge: () => Promise.resolve(undefined), secureUrl: () => "https://x" };
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using plain = Deno.serve(options, (request) => answerPlain(request, parts));
  await using another = Deno.serve(options, (request) => {
    const received = hops.receive(request);
    return received instanceof Request ? new Response() : received;
  });
  const token = `Authorization: Bearer ${ADMIN_TOKEN}`;
  const get = (path: string) => `GET ${path} HTTP/1.1`;
  for (const host of ["300.1.1.1", "192.0.2.7:99999", "a%2fb"]) {
    await t.step(host, async () => {
      for (const path of ["/", "/login", "/nothing", "/api/v0/triggers/", "/mcp"]) {
        const lines = [get(path), `Host: ${host}`, "Accept: text/html", token];
        assertMatch(await ask(service.service.port, lines), /^HTTP\/1\.1 400 [^]*no URL/, path);
      }
      const lines = [get("/login"), `Host: ${host}`];
      assertMatch(await ask(plain.addr.port, lines), /^HTTP\/1\.1 400 /);
      const hop = "X-Hooklaunch-Hop: 1 192.0.2.7 x none 00";
      assertMatch(await ask(another.addr.port, [...lines, hop]), /^HTTP\/1\.1 503 /);
    });
  }
  assertMatch(await ask(service.service.port, ["GET /login HTTP/1.0"]), /^HTTP\/1\.\d 200 /);
  assertEquals(log.lines(), []);
});
