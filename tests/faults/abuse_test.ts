import { assert, assertEquals, assertLess } from "@std/assert";
import { HMAC_CONDITION, signature, startService, type TestService } from "../data.ts";
import { serve } from "./served.ts";
import { workshop } from "./workshop.ts";

const encoder = new TextEncoder();

/** Sends bytes as they are and reads until the service hangs up or has answered; answers the statuses. */
async function raw(
  port: number,
  text: string | Uint8Array,
  { close = true } = {},
): Promise<number[]> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  if (close) await connection.closeWrite();
  let answer = "";
  const timer = setTimeout(() => connection.close(), 3_000);
  const buffer = new Uint8Array(16_384);
  try {
    for (;;) {
      const count = await connection.read(buffer);
      if (count === null) break;
      answer += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    }
  } catch {
    // Hung up on, by either side.
  } finally {
    clearTimeout(timer);
  }
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

async function countRuns(service: TestService, id: string): Promise<number> {
  const { body } = await service.api("GET", `triggers/${id}/runs/?limit=200`);
  return body.results.length;
}

Deno.test("requests that lie, trick or break the protocol launch nothing, and others are answered", async (t) => {
  await using service = await startService({ settings: { payloadBytesMax: 1_000_000 } });
  const trigger = await service.trigger({ actions: [{ type: "fetch_repository" }] });
  const path = new URL(trigger.url).pathname;
  const { port } = service.service;
  const post = (head: string, body = "") =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n${body}`;
  const cases: [name: string, bytes: string, statuses: number[][], runs: number][] = [
    ["both lengths", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nabc"), [[
      400,
    ]], 0],
    ["two lengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), [[400]], 0],
    ["a length that is none", post("Content-Length: 3x\r\n", "abc"), [[400]], 0],
    ["a negative length", post("Content-Length: -3\r\n", "abc"), [[400]], 0],
    ["an unknown coding", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), [
      [400],
      [501],
      [],
    ], 0],
    [
      "a smuggled second coding",
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
      [[400]],
      0,
    ],
    ["a chunk that is none", post("Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"), [[
      400,
    ], []], 0],
    [
      "an endless chunk length",
      post("Transfer-Encoding: chunked\r\n", `${"0".repeat(10_000)}1\r\na\r\n0\r\n\r\n`),
      [[400], []],
      0,
    ],
    ["less than announced", post("Content-Length: 10\r\n", "abc"), [[400], []], 0],
    ["a folded header", post("X-A: b\r\n c\r\n"), [[400]], 0],
    ["a blank before the colon", post("X-A : b\r\n"), [[400]], 0],
    ["a header of 70,000 bytes", post(`X-A: ${"a".repeat(70_000)}\r\n`), [[400], [431], []], 0],
    ["500 headers", post(Array.from({ length: 500 }, (_, n) => `X-${n}: a\r\n`).join("")), [[400], [
      431,
    ], []], 0],
    ["a bad method", `PO ST ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, [[400], []], 0],
    ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [[400], []], 0],
    [
      "dots in the path",
      `POST /api/v0/launch/x/../${trigger.id}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
      [[200], [404]],
      1,
    ],
    [
      "an escaped slash",
      `POST /api/v0/launch%2f${trigger.id}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
      [[404], [401]],
      0,
    ],
    [
      "two slashes",
      `POST /api/v0/launch//${trigger.id}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
      [[404]],
      0,
    ],
    ["a NUL in the path", `POST ${path}%00 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`, [[
      404,
    ]], 0],
    [
      "another host",
      `POST http://evil.example${path} HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n`,
      [[200], []],
      1,
    ],
  ];
  for (const [name, bytes, statuses, runsMax] of cases) {
    await t.step(name, async () => {
      const before = await countRuns(service, trigger.id);
      const answered = await raw(port, bytes);
      const isExpected = statuses.some((expected) =>
        expected.join() === answered.slice(0, 1).join()
      );
      assert(isExpected, `answered ${answered}, expected one of ${JSON.stringify(statuses)}`);
      assert(await countRuns(service, trigger.id) - before <= runsMax, "nothing was smuggled in");
      const healthy = await fetch(`${service.url}/healthz`);
      assertEquals([healthy.status, await healthy.text()], [200, "ok\n"]);
    });
  }
});

Deno.test("a body is what came, however it is labelled", async (t) => {
  await using service = await startService();
  const filtered = await service.trigger({
    conditions: [{ type: "payload_filter", expression: "body.a == 1" }],
  });
  const open = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const zipped = async (size: number) => {
    const { readable, writable } = new CompressionStream("gzip");
    const writer = writable.getWriter();
    const closed = writer.write(new Uint8Array(size)).then(() => writer.close());
    const bytes = await new Response(readable).bytes();
    await closed;
    return bytes;
  };
  await t.step("compressed bytes are unpacked, within the limit of bodies", async () => {
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    const post = async (size: number) =>
      await fetch(open.url, { method: "POST", headers, body: await zipped(size) });
    const answer = await post(1_000_000);
    const { body } = await service.api("GET", `runs/${await answer.text()}/`);
    assertEquals(body.payload.size, 1_000_000);
    const bomb = await post(200 * 1_024 * 1_024);
    await bomb.body?.cancel();
    assertEquals(bomb.status, 413);
  });
  const bodies: [name: string, body: string | Uint8Array<ArrayBuffer>][] = [
    ["JSON nested 200,000 deep", "[".repeat(200_000) + "]".repeat(200_000)],
    ["objects nested 200,000 deep", '{"a":'.repeat(200_000) + "1" + "}".repeat(200_000)],
    ["bytes that are no UTF-8", new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])],
    ["a lone surrogate", '{"a":"\\ud800"}'],
    ["a prototype", '{"__proto__":{"a":1}}'],
    ["a number too large", `{"a":${"9".repeat(5_000)}}`],
    ["200,000 keys", `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":0`).join()}}`],
  ];
  for (const [name, body] of bodies) {
    await t.step(name, async () => {
      const answer = await fetch(filtered.url, { method: "POST", body });
      await answer.body?.cancel();
      assertEquals(answer.status, 400);
      const kept = await fetch(open.url, { method: "POST", body });
      await kept.body?.cancel();
      assertEquals(kept.status, 200);
    });
  }
});

Deno.test("slow senders and idle connections do not keep others from being answered", async () => {
  const id = "01900000-0000-7000-8000-000000000001";
  await using shop = await workshop([{
    id,
    name: "t",
    conditions: [HMAC_CONDITION],
    actions: [{ type: "fetch_repository" }],
  }]);
  // A process of its own: its memory is not that of the tests that run beside this one.
  await using service = await serve(shop.folder);
  const { port } = service;
  const path = `/api/v0/launch/${id}/`;
  const before_bytes = await service.rss_bytes();
  const slow: Deno.Conn[] = [];
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\nab`;
  for (let count = 0; count < 3_000; count++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    slow.push(connection);
    // A third says nothing, a third half a head, a third a head and two bytes of sixteen million.
    const said = ["", head.slice(0, 60), head][count % 3] ?? "";
    if (said !== "") await connection.write(encoder.encode(said));
  }
  try {
    const latencies_ms: number[] = [];
    for (let count = 0; count < 50; count++) {
      const began_ms = performance.now();
      const answer = await fetch(`${service.url}${path}`, {
        method: "POST",
        body: "x",
        headers: signature("x"),
      });
      await answer.body?.cancel();
      assertEquals(answer.status, 200);
      latencies_ms.push(performance.now() - began_ms);
      const dripping = slow[(count * 3 + 2) % slow.length];
      if (dripping) await dripping.write(encoder.encode("c"));
    }
    assertLess(Math.max(...latencies_ms), 2_000);
    assertLess(
      await service.rss_bytes() - before_bytes,
      150_000_000,
      "announced bytes take no memory",
    );
    assertEquals(await fetch(`${service.url}/readyz`).then((answer) => answer.text()), "ready\n");
  } finally {
    for (const connection of slow) connection.close();
  }
  assertEquals((await service.all(`triggers/${id}/runs/`)).length, 50);
});

Deno.test("a flood of bad requests writes a bounded number of log entries and says how many it left out", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ conditions: [HMAC_CONDITION] });
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 50 }, async () => {
      const answer = await fetch(trigger.url, { method: "POST", body: "x" });
      await answer.body?.cancel();
      assertEquals(answer.status, 400);
    }));
  }
  const { body } = await service.api("GET", `triggers/${trigger.id}/log/?limit=200`);
  // The clock may have gone from one minute to the next meanwhile.
  assert(body.results.length >= 60 && body.results.length <= 121, `${body.results.length} entries`);
});
