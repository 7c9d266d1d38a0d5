/**
 * A request that its head gives away is answered before its body is read: nobody makes the service read,
 * keep and hash a body that cannot be launched.
 */
import { deadline } from "@std/async/deadline";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { atOnce } from "../../at_once.ts";
import { HMAC_CONDITION, startService, type TestService } from "../../data.ts";
import { play, REJECTED } from "../scenario.ts";

const MIB = 1_024 * 1_024;
const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: ["let-me-in"] };

/** Sends a head that announces a body, and none of the body; returns the answer. */
async function answerToHead(
  service: TestService,
  url: string,
  { headers }: { headers: string[] },
): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
  const head = [
    `POST ${new URL(url).pathname} HTTP/1.1`,
    "Host: localhost",
    `Content-Length: ${MIB}`,
    ...headers,
  ];
  await connection.write(new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n`));
  const buffer = new Uint8Array(4_096);
  const count = await deadline(connection.read(buffer), 5_000);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

async function lastRefusal(service: TestService, id: string) {
  const { body } = await service.api("GET", `triggers/${id}/log/?limit=1`);
  const { condition, condition_index, request } = body.results[0];
  return { condition, condition_index, size: request.size };
}

Deno.test("a request that its head gives away is refused before its body comes", async (t) => {
  await using service = await startService();
  const cases = [
    { name: "to a disabled trigger", settings: { enabled: false }, condition: "enabled" },
    {
      name: "from an address that is not allowed",
      settings: { conditions: [{ type: "ip_allowlist", ranges: ["192.0.2.0/24"] }] },
      condition: "ip_allowlist",
    },
    {
      name: "without a token",
      settings: { conditions: [TOKEN] },
      condition: "static_token",
    },
    {
      name: "without a signature, before what a body shows",
      settings: { conditions: [{ ...TOKEN, in: "body" }, HMAC_CONDITION] },
      condition: "hmac",
    },
    {
      name: "with a malformed JWT",
      settings: {
        conditions: [{ type: "jwt", algorithms: ["HS256"], secrets: ["s".repeat(32)] }],
      },
      headers: ["Authorization: Bearer x"],
      condition: "jwt",
    },
  ];
  for (const { name, settings, headers = [], condition } of cases) {
    await t.step(name, async () => {
      const { id, url } = await service.trigger(settings);
      const answer = await answerToHead(service, url, { headers });
      assertMatch(answer, /^HTTP\/1\.1 400 /);
      assertMatch(answer, /\r\nconnection: close\r\n/i);
      assertStringIncludes(answer, REJECTED);
      const refused = await lastRefusal(service, id);
      assertEquals([refused.condition, refused.size], [condition, undefined]);
    });
  }
});

Deno.test("a trigger takes payloads as long as it says, and no longer", async (t) => {
  await using service = await startService({ settings: { payloadBytesMax: 2 * MIB } });
  const { id, url } = await service.trigger({ max_payload: "1KiB" });
  const other = await service.trigger();
  const sizes: [name: string, url: string, size: number, status: number][] = [
    ["at the limit", url, 1_024, 200],
    ["over the limit", url, 1_025, 413],
    ["another trigger at the service's limit", other.url, 2 * MIB, 200],
    ["another trigger over the service's limit", other.url, 2 * MIB + 1, 413],
  ];
  for (const [name, url, size, expectedStatus] of sizes) {
    await t.step(name, async () => {
      const path = new URL(url).pathname;
      await play(service.url, { name, path, body: new Uint8Array(size), expectedStatus });
    });
  }
  await t.step("over the limit in chunks", async () => {
    const body = ReadableStream.from([new Uint8Array(1_000), new Uint8Array(25)]);
    const answer = await fetch(url, { method: "POST", body });
    await answer.body?.cancel();
    assertEquals(answer.status, 413);
    const { body: { results: [entry] } } = await service.api("GET", `triggers/${id}/log/?limit=1`);
    assertEquals([entry.condition, entry.expected], ["body_size", "at most 1024 bytes"]);
  });
  await t.step("an explanation says the same", async () => {
    const body_base64 = new Uint8Array(1_025).toBase64();
    const { body } = await service.api("POST", `triggers/${id}/test/`, { body_base64 });
    assertEquals(body.passed, false);
    assertEquals(body.conditions[0].condition, "body_size");
  });
  await t.step("a new limit counts for the next launch", async () => {
    await service.api("PATCH", `triggers/${id}/`, { max_payload: 5_000 });
    const path = new URL(url).pathname;
    await play(service.url, { name: "", path, body: new Uint8Array(1_025), expectedStatus: 200 });
  });
  for (const max_payload of [0, -1, "1 GB", "x", "", "3MiB", 2 * MIB + 1, "2049KiB"]) {
    await t.step(`max_payload ${JSON.stringify(max_payload)} is refused`, async () => {
      const { status, body } = await service.api("PATCH", `triggers/${id}/`, { max_payload });
      assertEquals(status, 422);
      assertEquals(body.errors[0].pointer, "/max_payload");
    });
  }
  await t.step("as long as the service's own is not too long", async () => {
    for (const max_payload of [2 * MIB, "2MiB", "2048 KiB", "2097152B"]) {
      const { status } = await service.api("PATCH", `triggers/${id}/`, { max_payload });
      assertEquals(status, 200);
    }
  });
});

/** The address that a request comes from, as a proxy says it. */
const from = (address: string) => ({ "x-forwarded-for": address, "x-forwarded-proto": "https" });

/** A body of 16 MiB but for its last byte: all share it. */
const UNFINISHED = new Blob([new Uint8Array(16 * MIB - 1)]);

/** Sends all but the last byte of a body, and keeps the connection. */
async function beginLong(service: TestService, url: string, address: string): Promise<Deno.Conn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
  const headers = Object.entries({ host: "localhost", ...from(address) })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `POST ${new URL(url).pathname} HTTP/1.1\r\n${headers}`;
  const sent = new Blob([
    head,
    `Content-Length: ${16 * MIB}\r\n\r\n`,
    UNFINISHED,
  ]);
  await sent.stream().pipeTo(connection.writable, { preventClose: true }).catch(() => {
    // It was answered 503 before it had sent all.
  });
  return connection;
}

const FLOODS = [
  {
    name: "senders of one trigger, wherever they are",
    trigger: 0,
    address: (count: number) => `192.0.2.${count}`,
    late: { trigger: 0, address: "192.0.2.99" },
    other: { trigger: 1, address: "192.0.2.1" },
  },
  {
    name: "a sender with one address",
    trigger: undefined,
    address: () => "192.0.2.7",
    late: { trigger: 1, address: "192.0.2.7" },
    other: { trigger: 1, address: "192.0.2.8" },
  },
  {
    name: "a sender with a network of IPv6",
    trigger: undefined,
    address: (count: number) => `2001:db8::${count}`,
    late: { trigger: 1, address: "2001:db8:0:0:ffff::1" },
    other: { trigger: 1, address: "2001:db8:0:1::1" },
  },
];

// Each waits for memory, twice.
const testAtOnce = atOnce("none of these can take the memory that all bodies share", FLOODS.length);

for (const { name, trigger, address, late, other } of FLOODS) {
  testAtOnce(name, async () => {
    await using service = await startService({ settings: { trustedProxies: ["127.0.0.1"] } });
    const urls = [(await service.trigger()).url, (await service.trigger()).url];
    const send = async (to: { trigger: number; address: string }, body: BodyInit) => {
      const headers = from(to.address);
      const answer = await fetch(urls[to.trigger] ?? "", { method: "POST", headers, body });
      await answer.body?.cancel();
      return answer.status;
    };
    const begin = (count: number) =>
      beginLong(service, urls[trigger ?? count % 2] ?? "", address(count));
    const connections: Deno.Conn[] = [];
    // 128 MiB, half of what all bodies may have together.
    for (let count = 0; count < 8; count++) connections.push(await begin(count));
    // These are too much: they wait, and are answered 503.
    const others = Array.from({ length: 8 }, (_, index) => begin(8 + index));
    connections.push(...await Promise.all(others));
    try {
      assertEquals(await send(late, new Uint8Array(16 * MIB)), 503);
      assertEquals(await send(other, new Uint8Array(16 * MIB)), 200);
      assertEquals(await send(late, "short"), 200);
    } finally {
      for (const connection of connections) connection.close();
    }
  });
}
