/** Bodies with a Content-Encoding, on one running service: what is checked, kept, launched again and explained. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac, hash } from "node:crypto";
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  type InputType,
} from "node:zlib";
import { requestDecoder } from "../../../src/conditions/decoding/decode.ts";
import { decodeJob, type DecodeWork } from "../../../src/conditions/decoding/job.ts";
import { claimsOf, keepClaims } from "../../../src/conditions/jwt/claims.ts";
import { launchRequest } from "../../../src/conditions/request.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { JobTimeoutError, WorkerLostError } from "../../../src/platform/heavy_work/job.ts";
import { request } from "../../conditions/fixture.ts";
import { eventually, startService, type TestService } from "../../data.ts";
import { REJECTED } from "../scenario.ts";

const SECRET = "a-secret-of-this-test";
const JSON_TYPE = "application/json";
const BODY = JSON.stringify({ a: 1, said: "hello ".repeat(100) });
/** The largest payload of the triggers. */
const MOST = 16 * 1024;
const BOMB = new Uint8Array(32 * 1024 * 1024);

const bytes = (...parts: (Uint8Array | string)[]) =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part))));
const gz = (body: InputType = BODY) => bytes(gzipSync(body));
// A quality that takes little time.
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const br = (body: InputType = BODY) => bytes(brotliCompressSync(body, quality));
/** Makes a body longer. */
const stored = (body: InputType) => bytes(gzipSync(body, { level: 0 }));
const df = (body: InputType = BODY) => bytes(deflateSync(body));
const raw = (body: InputType = BODY) => bytes(deflateRawSync(body));
const cut = (body: Uint8Array) => body.slice(0, -1);
const full = (size: number) => JSON.stringify({ a: 1, said: "x".repeat(size - 17) });

interface Case {
  name: string;
  encoding: string;
  body: Uint8Array<ArrayBuffer>;
  /** The payload; that of most cases where it is absent. */
  payload?: string;
  /** The status of a refusal. */
  status?: number;
  reason?: RegExp;
  isReplayed?: true;
}

const cases: Case[] = [
  { name: "gzip", encoding: "gzip", body: gz(), isReplayed: true },
  { name: "x-gzip, in capitals", encoding: "X-GZip", body: gz() },
  {
    name: "gzip in two members",
    encoding: "gzip",
    body: bytes(gz(BODY.slice(0, 9)), gz(BODY.slice(9))),
  },
  { name: "gzip with zeros behind it", encoding: "gzip", body: bytes(gz(), new Uint8Array(9)) },
  { name: "deflate", encoding: "deflate", body: df() },
  { name: "deflate without its frame", encoding: "deflate", body: raw() },
  { name: "br", encoding: "br", body: br() },
  { name: "br after gzip", encoding: "gzip, br", body: br(gz()), isReplayed: true },
  { name: "four of them", encoding: "gzip,br, deflate , gzip", body: gz(df(br(gz()))) },
  { name: "identity", encoding: "identity", body: bytes(BODY) },
  { name: "identity beside gzip", encoding: "identity, gzip,", body: gz() },
  { name: "the longest body", encoding: "br", body: br(full(MOST)), payload: full(MOST) },
  {
    name: "the longest body, which one of its codings makes longer",
    encoding: "gzip, br",
    body: br(stored(full(MOST))),
    payload: full(MOST),
  },
  {
    name: "one byte more",
    encoding: "br",
    body: br(full(MOST + 1)),
    status: 413,
    reason: /^The body is too large once its encoding br is undone$/,
  },
  { name: "one byte more, gzip", encoding: "gzip", body: gz(full(MOST + 1)), status: 413 },
  { name: "a gzip bomb", encoding: "gzip", body: gz(BOMB.subarray(0, 15 << 20)), status: 413 },
  { name: "a brotli bomb", encoding: "br", body: br(BOMB), status: 413 },
  { name: "a bomb within a bomb", encoding: "gzip, gzip", body: gz(gz(BOMB)), status: 413 },
  {
    name: "an unknown coding",
    encoding: "zstd",
    body: gz(),
    status: 415,
    reason: /^The body has an encoding that is not undone$/,
  },
  {
    name: "five codings",
    encoding: "gzip,gzip,gzip,gzip,gzip",
    body: gz(gz(gz(gz(gz())))),
    status: 415,
  },
  { name: "a list of parameters", encoding: "gzip;q=1", body: gz(), status: 415 },
  {
    name: "a coding that is not there",
    encoding: "gzip",
    body: bytes(BODY),
    status: 415,
    reason: /malformed/,
  },
  { name: "brotli that is none", encoding: "br", body: bytes(BODY), status: 415 },
  { name: "deflate that is none", encoding: "deflate", body: bytes(BODY), status: 415 },
  { name: "the codings in the wrong order", encoding: "br, gzip", body: br(gz()), status: 415 },
  ...[gz, br, df, raw].flatMap((code): Case[] => {
    const encoding = { gz: "gzip", br: "br", df: "deflate", raw: "deflate" }[code.name] ?? "";
    const behind = code === gz ? /malformed/ : /more bytes follow its end/;
    return [
      {
        name: `${code.name}, cut off`,
        encoding,
        body: cut(code()),
        status: 415,
        reason: /cut off/,
      },
      {
        name: `${code.name}, half`,
        encoding,
        body: code().slice(0, 20),
        status: 415,
        reason: /cut off/,
      },
      {
        name: `${code.name}, with more behind it`,
        encoding,
        body: bytes(code(), "{}"),
        status: 415,
        reason: behind,
      },
    ];
  }),
];

const signature = (body: Uint8Array) => createHmac("sha256", SECRET).update(body).digest("hex");

async function send(
  url: string,
  { encoding, body }: Pick<Case, "encoding" | "body">,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": JSON_TYPE, "content-encoding": encoding, ...headers },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}

/** Waits for the delivery with an id, which is written into the log after its answer. */
// deno-lint-ignore no-explicit-any
async function logged(service: TestService, trigger: string, delivery: string): Promise<any> {
  const id = await eventually(async () => {
    const { body } = await service.api("GET", `deliveries/?trigger=${trigger}&limit=100`);
    return body.results.find((each: { delivery_id: string }) => each.delivery_id === delivery)?.id;
  });
  return (await service.api("GET", `deliveries/${id}/`)).body;
}

const textOf = (base64: string) => Buffer.from(base64, "base64").toString();

Deno.test("Content-Encoding: what is checked, kept and told", async (t) => {
  await using service = await startService();
  const { url } = await service.trigger({
    name: "signed",
    max_payload: "16KiB",
    keep_refused: "1h",
    refused: { filter: 202 },
    conditions: [
      { type: "hmac", algorithm: "sha256", header: "X-Signature", secrets: [SECRET] },
      {
        type: "payload_filter",
        expression:
          "body.a == 1 && raw.startsWith('{') && !('content-encoding' in headers && headers['content-encoding'] != 'identity')",
      },
    ],
    actions: [{ type: "fetch_repository" }],
  });
  for (const [index, one] of cases.entries()) {
    const headers = { "x-signature": signature(one.body), "x-request-id": `case-${index}` };
    const { status, text } = await send(url, one, headers);
    assertEquals(status, one.status ?? 200, `${one.name}: ${text}`);
    if (one.status === undefined) continue;
    // The bare code: its owner alone learns why.
    const title = status === 413 ? "Content Too Large" : "Unsupported Media Type";
    assertEquals(JSON.parse(text), { title, status });
  }
  const deliveries = await eventually(async () => {
    const { body } = await service.api("GET", "deliveries/?trigger=signed&limit=100");
    return body.results.length === cases.length ? body.results : undefined;
  });
  for (const [index, one] of cases.entries()) {
    await t.step(one.name, async () => {
      const isMeant = (each: { delivery_id: string }) => each.delivery_id === `case-${index}`;
      const { id } = deliveries.find(isMeant);
      const delivery = (await service.api("GET", `deliveries/${id}/`)).body;
      if (one.status !== undefined) {
        assertEquals([delivery.outcome, delivery.condition], ["refused", "content_encoding"]);
        assertEquals([delivery.status, delivery.size], [one.status, one.body.length]);
        assertMatch(delivery.reason, one.reason ?? /./);
        const verdicts = delivery.verdicts.map((each: { verdict: string }) => each.verdict);
        assertEquals(verdicts, ["passed", "failed", "not reached"]);
        return;
      }
      const payload = one.payload ?? BODY;
      assertEquals(delivery.outcome, "accepted");
      assertEquals(textOf(delivery.body), payload);
      assertEquals([delivery.size, delivery.sha256], [payload.length, hash("sha256", payload)]);
      assertEquals(
        delivery.headers["content-encoding"],
        one.encoding === "identity" ? one.encoding : undefined,
      );
      if (!one.isReplayed) return;
      const replay = await service.api("POST", `deliveries/${id}/replay/`, {});
      assertEquals(replay.status, 201, JSON.stringify(replay.body));
      const again =
        (await service.api("GET", `deliveries/${replay.body.run_id ?? replay.body.id}/`)).body;
      assertEquals([again.sha256, again.headers], [delivery.sha256, delivery.headers]);
    });
  }

  await t.step("a sender who is not known learns nothing, and nothing is decoded", async () => {
    const wrong = signature(bytes("other"));
    for (
      const [encoding, body] of [["zstd", gz()], ["br", br(BOMB)], ["gzip", cut(gz())]] as const
    ) {
      const headers = { "x-signature": wrong, "x-request-id": `unknown-${encoding}` };
      assertEquals((await send(url, { encoding, body }, headers)).text, REJECTED);
      const { condition } = await logged(service, "signed", `unknown-${encoding}`);
      assertEquals(condition, "hmac");
    }
  });

  await t.step("the signature is that of the bytes that came", async () => {
    const headers = { "x-signature": signature(bytes(BODY)) };
    assertEquals((await send(url, { encoding: "gzip", body: gz() }, headers)).text, REJECTED);
  });

  await t.step("a filtered body is kept as it came, and launched as it was meant", async () => {
    const body = gz('{"a": 2}');
    const headers = { "x-signature": signature(body), "x-request-id": "filtered" };
    const answer = await send(url, { encoding: "gzip", body }, headers);
    assertEquals(answer, { status: 202, text: '{"status":"ignored"}' });
    const { id, trigger_id, ...filtered } = await logged(service, "signed", "filtered");
    assertEquals(filtered.outcome, "filtered");
    assertEquals(Buffer.from(filtered.body, "base64"), Buffer.from(body));
    const filter = { type: "payload_filter", expression: "body.a == 2" };
    const tried = await service.api("POST", `triggers/${trigger_id}/try-filter/`, { filter });
    const isMeant = (each: { delivery_id: string }) => each.delivery_id === id;
    assertEquals(tried.body.results.find(isMeant).verdict, "passed", JSON.stringify(tried.body));
    const { body: trigger } = await service.api("GET", `triggers/${trigger_id}/`);
    const put = await service.api("PUT", `triggers/${trigger_id}/`, {
      ...trigger,
      conditions: [trigger.conditions[0], filter],
    });
    assertEquals(put.status, 200, JSON.stringify(put.body));
    const replay = await service.api("POST", `deliveries/${id}/replay/`, {});
    assertEquals(replay.status, 201, JSON.stringify(replay.body));
    const again = (await service.api("GET", `deliveries/${replay.body.id}/`)).body;
    assertEquals(textOf(again.body), '{"a": 2}');
  });
});

Deno.test("Content-Encoding: repeats, answers and fields of the body", async (t) => {
  await using service = await startService();
  await t.step("equal bodies are one delivery, however they are coded", async () => {
    const { url } = await service.trigger({
      name: "hashed",
      conditions: [{ type: "deduplication", in: "body_hash" }],
      response: { type: "text", text: "{run_id} {body.a}" },
    });
    const answers = [];
    for (
      const [encoding, body] of [["gzip", gz()], ["br", br()], ["identity", bytes(BODY)]] as const
    ) {
      answers.push((await send(url, { encoding, body })).text);
    }
    assertEquals(new Set(answers).size, 1, answers.join());
    assertMatch(answers[0] ?? "", /^[0-9a-f-]{36} 1$/);
  });
  await t.step("a time in the body is read once the sender is known", async () => {
    const { url } = await service.trigger({
      name: "timed",
      conditions: [{ type: "timestamp", in: "body", name: "/at", format: "rfc3339" }],
    });
    const body = gz(JSON.stringify({ at: new Date().toISOString() }));
    assertEquals((await send(url, { encoding: "gzip", body })).status, 200);
  });
  await t.step("a token in a coded body is not looked for, and the owner learns why", async () => {
    const { url } = await service.trigger({
      name: "token",
      conditions: [{ type: "static_token", in: "body", name: "token", secrets: [SECRET] }],
    });
    const body = gz(JSON.stringify({ token: SECRET }));
    const headers = { "x-request-id": "token" };
    assertEquals((await send(url, { encoding: "gzip", body }, headers)).text, REJECTED);
    const { verdicts } = await logged(service, "token", "token");
    assertMatch(verdicts[0].found, /encoded as gzip/);
  });
});

Deno.test("Content-Encoding: questions about runs", async (t) => {
  await using service = await startService();
  const { url } = await service.trigger({
    name: "asked",
    conditions: [
      { type: "hmac", algorithm: "sha256", header: "X-Signature", secrets: [SECRET] },
      { type: "timestamp", in: "body", name: "/at", format: "rfc3339" },
    ],
    response: { type: "text", text: "{run_id}" },
  });
  const at = new Date().toISOString();
  const ask = (to: string, encoding: string, body: Uint8Array<ArrayBuffer>, signed = body) =>
    send(to, { encoding, body }, { "x-signature": signature(signed) });
  const { text: run_id } = await ask(url, "gzip", gz(JSON.stringify({ at })));
  const question = (fill = 0) => JSON.stringify({ at, run_id, wait: 10, fill: "x".repeat(fill) });
  for (
    const [name, encoding, body, status] of [
      ["gzip", "gzip", gz(question()), 200],
      ["br after deflate", "deflate, br", br(df(question())), 200],
      ["identity", "identity", bytes(question()), 200],
      ["a bomb", "gzip", gz(BOMB.subarray(0, 15 << 20)), 413],
      ["more than a question may have", "br", br(question(64 * 1024)), 413],
      ["an unknown coding", "zstd", gz(question()), 415],
      ["a coding that is not there", "gzip", bytes(question()), 415],
    ] as const
  ) {
    await t.step(name, async () => {
      const answer = await ask(`${url}run/`, encoding, body);
      assertEquals(answer.status, status, answer.text);
      if (status === 200) assertEquals(JSON.parse(answer.text).status, "completed");
      else assertEquals(Object.keys(JSON.parse(answer.text)), ["title", "status"]);
    });
  }
  await t.step("an unknown sender makes the service decode nothing", async () => {
    const answer = await ask(`${url}run/`, "gzip", gz(question()), bytes("other"));
    assertEquals(answer.text, REJECTED);
  });
});

/** Decodes in this thread. */
const atOnce: DecodeWork = {
  // The job of this kind takes this input, and its output is what the caller waits for.
  run: (_kind: string, input: unknown) => Promise.resolve(decodeJob(input as never) as never),
};

Deno.test("Content-Encoding: the memory of the most that a body can make is held until it is made", async () => {
  const short = gz("x");
  const cases: [encoding: string, body: Uint8Array, limit_bytes: number, most: number][] = [
    ["gzip", short, 100_000, short.length * 1_040],
    ["gzip", short, 1_000, 1_000],
    ["gzip, gzip", gz(short), 1_000_000_000, gz(short).length * 1_040 ** 2],
    ["br", br("x"), 100_000, 100_000],
  ];
  for (const [encoding, body, limit_bytes, most] of cases) {
    const held: number[] = [];
    const headers = { "content-encoding": encoding, "content-length": `${body.length}` };
    const sent = launchRequest({
      ...request({ body, headers }),
      holdMemory(bytes) {
        held.push(bytes);
        return Promise.resolve(true);
      },
    });
    keepClaims(sent, { sub: "it" });
    const decoded = await requestDecoder({ heavyWork: atOnce, owner: "it", limit_bytes })(sent);
    assert(decoded && "decoded" in decoded, encoding);
    assertEquals(held, [body.length + most, body.length + 1], encoding);
    const { decoded: meant } = decoded;
    assertEquals([meant.body, [...meant.headers]], [bytes("x"), []]);
    assertEquals(claimsOf(meant), { sub: "it" });
  }
});

Deno.test("Content-Encoding: where there is no memory or no time, the sender comes again", async () => {
  const refusing = { ...request({ body: gz(), headers: { "content-encoding": "gzip" } }) };
  const failing = (error: Error): DecodeWork => ({ run: () => Promise.reject(error) });
  const decode = (heavyWork: DecodeWork) =>
    requestDecoder({ heavyWork, owner: "it", limit_bytes: MOST });
  const cases: [DecodeWork, boolean][] = [
    [failing(new JobTimeoutError(2_000)), true],
    [failing(new WorkerLostError("the Worker ended")), true],
    [atOnce, false],
  ];
  for (const [heavyWork, hasMemory] of cases) {
    const sent = launchRequest({ ...refusing, holdMemory: () => Promise.resolve(hasMemory) });
    await assertRejects(async () => await decode(heavyWork)(sent), UnavailableError);
  }
});
