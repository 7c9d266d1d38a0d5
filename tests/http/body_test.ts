/**
 * The body reader against senders of every kind: what is read is what came, and neither the size nor the
 * slowness of one body harms another request.
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import fc from "fast-check";
import { ignoreTimeout } from "../../src/platform/waiting/promises.ts";
import { BodyReader, type ReadBody } from "../../src/http/body.ts";

const KIB = 1_024;

/** A body that comes as its sender sends it. */
interface Sent {
  request: Request;
  /** How many chunks were taken so far. */
  taken: number;
  /** Whether the reader has hung up. */
  isCancelled: boolean;
}

/** A request whose body comes in these chunks; `then` says what happens behind the last. */
function send(
  chunks: readonly Uint8Array[],
  { then = "end", length }: { then?: "end" | "break off" | "stall"; length?: number } = {},
): Sent {
  const sent: Sent = { request: new Request("http://localhost/"), taken: 0, isCancelled: false };
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const chunk = chunks[sent.taken];
      if (chunk) {
        sent.taken++;
        // What is given to the stream is gone for the giver.
        controller.enqueue(chunk.slice());
      } else if (then === "end") end(controller);
      else if (then === "break off") controller.error(new TypeError("connection reset"));
      else return new Promise(() => {});
    },
    cancel() {
      sent.isCancelled = true;
    },
  }, { highWaterMark: 0 });
  // As over HTTP/1.1: over HTTP/2 there is no such header.
  const headers = new Headers({ host: "localhost" });
  if (length !== undefined) headers.set("content-length", String(length));
  sent.request = new Request("http://localhost/", { method: "POST", body, headers });
  return sent;
}

/** Ends a stream, and with it the read that waits for more of it. */
function end(controller: ReadableByteStreamController) {
  controller.close();
  controller.byobRequest?.respond(0);
}

function bytes(size: number, value = 1): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size).fill(value);
}

/** Reads a body and lets go of it at once. */
async function read(
  reader: BodyReader,
  { request }: Pick<Sent, "request">,
  limit_bytes = 100,
): Promise<ReadBody> {
  using held = await reader.read(request, limit_bytes);
  return held.body;
}

/** Reads a body and holds it until it is told to let go. */
function hold(reader: BodyReader, { request }: Sent, limit_bytes = 100) {
  const held = reader.read(request, limit_bytes);
  return {
    read: held.then(({ body }) => body),
    release: async () => (await held)[Symbol.dispose](),
  };
}

Deno.test("a body comes out as its bytes, however it is cut into chunks", async () => {
  using reader = new BodyReader();
  const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), fc.nat(50), async (chunks, isDeclared, more) => {
      const whole = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
      const sent = send(chunks, isDeclared ? { length: whole.length } : {});
      assertEquals(await read(reader, sent, whole.length + more), { bytes: whole });
    }),
  );
});

Deno.test("a request without a body has an empty one", async () => {
  const request = new Request("http://localhost/");
  using reader = new BodyReader();
  assertEquals(await read(reader, { request }, 0), { bytes: new Uint8Array() });
});

const lengths: { name: string; sent: () => Sent; expected: ReadBody; taken: number }[] = [
  {
    name: "declared, at the limit",
    sent: () => send([bytes(60), bytes(40)], { length: 100 }),
    expected: { bytes: bytes(100) },
    taken: 2,
  },
  {
    name: "declared, one byte over the limit: nothing is read",
    sent: () => send([bytes(60), bytes(41)], { length: 101 }),
    expected: { failure: "too_large" },
    taken: 0,
  },
  {
    name: "declared, over any number",
    sent: () => send([bytes(1)], { length: 999_999_999_999_999 }),
    expected: { failure: "too_large" },
    taken: 0,
  },
  {
    name: "declared, over any number that is exact",
    sent: () => send([bytes(1)], { length: 2 ** 63 }),
    expected: { failure: "too_large" },
    taken: 0,
  },
  {
    name: "not declared, at the limit",
    sent: () => send([bytes(60), bytes(40)]),
    expected: { bytes: bytes(100) },
    taken: 2,
  },
  {
    name: "not declared, one byte over the limit: the rest is not read",
    sent: () => send([bytes(60), bytes(41), bytes(1), bytes(1)]),
    expected: { failure: "too_large" },
    taken: 2,
  },
  {
    name: "more than was declared",
    sent: () => send([bytes(60), bytes(41), bytes(1)], { length: 10 }),
    expected: { failure: "too_large" },
    taken: 3,
  },
  {
    name: "cut off at the start",
    sent: () => send([], { then: "break off" }),
    expected: { failure: "cut_off" },
    taken: 0,
  },
  {
    name: "cut off in the middle",
    sent: () => send([bytes(10), bytes(10)], { then: "break off", length: 100 }),
    expected: { failure: "cut_off" },
    taken: 2,
  },
];

for (const { name, sent, expected, taken } of lengths) {
  Deno.test(`a body ${name}`, async () => {
    using reader = new BodyReader();
    const body = sent();
    assertEquals(await read(reader, body), expected);
    assertEquals(body.taken, taken);
  });
}

Deno.test("the sender of a body that is too large is hung up on", async () => {
  using reader = new BodyReader();
  const body = send([bytes(101)], { then: "stall" });
  assertEquals(await read(reader, body), { failure: "too_large" });
  assertEquals(body.isCancelled, true);
});

Deno.test("a sender that stalls is waited for no longer than the time there is", async () => {
  using reader = new BodyReader({ timeout_ms: 20, bodies_bytes_max: 100 });
  const started = performance.now();
  for (const length of [{}, { length: 100 }]) {
    const body = send([bytes(60)], { then: "stall", ...length });
    assertEquals(await read(reader, body), { failure: "too_slow" });
  }
  assertLess(performance.now() - started, 10_000);
  assertEquals(await read(reader, send([bytes(100)])), { bytes: bytes(100) });
});

Deno.test("a sender that drips is not waited for longer than one that stalls", async () => {
  using reader = new BodyReader({ timeout_ms: 30 });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const drip = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      await new Promise((resolve) => timer = setTimeout(resolve, 5));
      controller.enqueue(bytes(1));
    },
    cancel: () => clearTimeout(timer),
  }, { highWaterMark: 0 });
  // Over HTTP/2, where no request has this header, a stream is not cancelled.
  const headers = { host: "localhost" };
  const request = new Request("http://localhost/", { method: "POST", body: drip, headers });
  const started = performance.now();
  assertEquals(await read(reader, { request }, KIB), { failure: "too_slow" });
  assertLess(performance.now() - started, 10_000);
});

Deno.test("bodies that are held take their memory from others, until they are let go", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 100 });
  const first = hold(reader, send([bytes(60)], { length: 60 }));
  const second = hold(reader, send([bytes(40)]));
  assertEquals(await first.read, { bytes: bytes(60) });
  assertEquals(await second.read, { bytes: bytes(40) });
  const third = send([bytes(1), bytes(1)]);
  assertEquals(await read(reader, third), { failure: "no_memory" });
  assertEquals([third.taken, third.isCancelled], [1, true]);
  assertEquals(await read(reader, send([])), { bytes: bytes(0) }, "an empty body takes nothing");

  await second.release();
  assertEquals(await read(reader, send([bytes(41)])), { failure: "no_memory" });
  assertEquals(await read(reader, send([bytes(40)])), { bytes: bytes(40) });
  await first.release();
  assertEquals(await read(reader, send([bytes(100)])), { bytes: bytes(100) });
});

Deno.test("longer bodies take the memory of the buffer that they are read into", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 100 * KIB });
  const first = hold(reader, send([bytes(60 * KIB)], { length: 60 * KIB }), 60 * KIB);
  assertEquals(await first.read, { bytes: bytes(60 * KIB) });
  const second = send([bytes(20 * KIB), bytes(30 * KIB)], { length: 50 * KIB });
  assertEquals(await read(reader, second, 60 * KIB), { failure: "no_memory" });
  assertEquals([second.taken, second.isCancelled], [1, true]);
  await first.release();
  const third = send([bytes(20 * KIB), bytes(30 * KIB)], { length: 50 * KIB });
  assertEquals(await read(reader, third, 60 * KIB), { bytes: bytes(50 * KIB) });
});

Deno.test("a long body waits for memory, and is read on when another one lets it go", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 100 * KIB });
  const first = hold(reader, send([bytes(60 * KIB)], { length: 60 * KIB }), 60 * KIB);
  await first.read;
  const second = send([bytes(20 * KIB), bytes(30 * KIB)], { length: 50 * KIB });
  const reading = read(reader, second, 60 * KIB);
  await delay(100);
  assertEquals(second.taken, 1, "it is not read on meanwhile");
  await first.release();
  assertEquals(await reading, { bytes: bytes(50 * KIB) });
});

Deno.test("long bodies that take all the memory they may leave some to short ones", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 100 * KIB, short_bytes_max: 16 * KIB });
  const long = hold(
    reader,
    send([bytes(99 * KIB)], { then: "stall", length: 100 * KIB }),
    100 * KIB,
  );
  // It takes what there is, and waits for more of itself.
  await delay(50);
  assertEquals(await read(reader, send([bytes(17 * KIB)]), 20 * KIB), { failure: "no_memory" });
  for (const length of [{}, { length: 16 * KIB }]) {
    const short = hold(reader, send([bytes(16 * KIB)], length), 20 * KIB);
    assertEquals(await short.read, { bytes: bytes(16 * KIB) });
    assertEquals(await read(reader, send([bytes(1)])), { failure: "no_memory" });
    await short.release();
  }
  void long.read;
});

Deno.test("memory is let go whatever becomes of a body", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 100, timeout_ms: 10 });
  for (let turn = 0; turn < 3; turn++) {
    await read(reader, send([bytes(80), bytes(80)]));
    await read(reader, send([bytes(80)], { then: "break off" }));
    await read(reader, send([bytes(80)], { then: "stall" }));
    await read(reader, send([bytes(50), bytes(60)]), 200);
    await assertRejects(async () => {
      using _held = await reader.read(send([bytes(80)]).request, 100);
      throw new Error("broken");
    });
  }
  assertEquals(await read(reader, send([bytes(100)])), { bytes: bytes(100) });
});

Deno.test("senders that announce much and send nothing take no room from others", async () => {
  using reader = new BodyReader({ bodies_bytes_max: 16 * KIB, timeout_ms: 50 });
  const stalling = Array.from(
    { length: 100 },
    (_, index) =>
      read(reader, send([], { then: "stall", ...(index % 2 ? { length: 8 * KIB } : {}) }), 8 * KIB),
  );
  const many = Array.from({ length: 100 }, () => read(reader, send([bytes(100)]), 8 * KIB));
  for (const body of await Promise.all(many)) assertEquals(body, { bytes: bytes(100) });
  for (const body of await Promise.all(stalling)) assertEquals(body, { failure: "too_slow" });
});

Deno.test("where too many bodies are arriving, the slowest makes room for the next", async () => {
  using reader = new BodyReader({ arriving_max: 2, slow_ms: 500 });
  const first = read(reader, send([], { then: "stall" }));
  const second = read(reader, send([], { then: "stall", length: 10 }));
  assertEquals(await read(reader, send([bytes(1)])), { failure: "no_memory" }, "none is slow yet");
  await new Promise((resolve) => setTimeout(resolve, 520));
  assertEquals(await read(reader, send([bytes(1)])), { bytes: bytes(1) });
  assertEquals(await first, { failure: "no_memory" });
  void read(reader, send([], { then: "stall" }));
  assertEquals(await read(reader, send([bytes(2)])), { bytes: bytes(2) });
  assertEquals(await second, { failure: "no_memory" });
});

Deno.test("a body in chunks of a few bytes each is not read on, unless there are few of them", async () => {
  using reader = new BodyReader({ parts_max: 10 });
  const chunks = (count: number, size: number) => Array.from({ length: count }, () => bytes(size));
  assertEquals(await read(reader, send(chunks(10, 1))), { bytes: bytes(10) });
  assertEquals(await read(reader, send(chunks(100, 64)), 6_400), { bytes: bytes(6_400) });
  const sent = send(chunks(100, 1));
  assertEquals(await read(reader, sent), { failure: "too_many_parts" });
  assertEquals([sent.taken, sent.isCancelled], [11, true]);
});

Deno.test("of a long body no more than 8 KiB is read at once", async () => {
  const size = 1024 * KIB;
  let sent = 0;
  let most = 0;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const view = controller.byobRequest?.view;
      if (!view) throw new Error("Expected to be asked for bytes");
      most = Math.max(most, view.byteLength);
      const count = Math.min(view.byteLength, size - sent);
      sent += count;
      if (count === 0) end(controller);
      else controller.byobRequest?.respond(count);
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://localhost/", { method: "POST", body });
  using reader = new BodyReader();
  assertEquals(await read(reader, { request }, size), { bytes: bytes(size, 0) });
  assertEquals(most, 8 * KIB);
});

Deno.test("a chunk that says much of itself is read wherever in a body it stands", async () => {
  using reader = new BodyReader();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (
    request,
  ) => {
    using held = await reader.read(request, 100 * KIB);
    return new Response("failure" in held.body ? held.body.failure : `${held.body.bytes.length}`);
  });
  // As long as Deno lets the line of a chunk be, with what ends the chunk before it.
  const more = `\r\n1;${"x".repeat(4_094)}\r\n1`;
  for (const size of [16 * KIB, 16 * KIB + 1, 64 * KIB]) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
    const head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    const sent = `${head}${size.toString(16)}\r\n${"1".repeat(size)}${more}\r\n0\r\n\r\n`;
    await new Blob([sent]).stream().pipeTo(connection.writable, { preventClose: true });
    const answer = new Uint8Array(1_024);
    const count = await deadline(connection.read(answer), 5_000).catch(ignoreTimeout);
    const text = new TextDecoder().decode(answer.subarray(0, count ?? 0));
    assertEquals(text.split("\r\n\r\n")[1], `${size + 1}`);
  }
});

Deno.test("a body in chunks of one byte takes little more memory than its size", async () => {
  const size = 256 * KIB;
  let sent = 0;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (sent++ < size) controller.enqueue(bytes(1, 7));
      else end(controller);
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://localhost/", { method: "POST", body });
  const before_bytes = Deno.memoryUsage().heapUsed;
  using reader = new BodyReader({ bodies_bytes_max: size, parts_max: size });
  using held = await reader.read(request, size);
  // An array for each byte would be more than 64 MiB.
  assertLess(Deno.memoryUsage().heapUsed - before_bytes, 30 * KIB * KIB);
  assert("bytes" in held.body);
  assertEquals(held.body.bytes.length, size);
  assertEquals(held.body.bytes.every((byte) => byte === 7), true);
});

Deno.test("a service that stops waits for bodies that are arriving, and for no others", async () => {
  using reader = new BodyReader();
  const waits = async (deadline_ms: number) => {
    const began_ms = performance.now();
    await reader.arrived(deadline_ms);
    return performance.now() - began_ms;
  };
  await read(reader, send([bytes(3)], { length: 3 }));
  await read(reader, send([bytes(3)]));
  await read(reader, send([bytes(3)], { then: "break off" }));
  assertLess(await waits(10_000), 5_000);
  void read(reader, send([bytes(3)], { then: "stall" }));
  assert(await waits(50) >= 50);
});

Deno.test("short bodies that follow each other on one connection come out as they were sent", async () => {
  using reader = new BodyReader();
  const connections = new Set<number>();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (
    request,
    { remoteAddr },
  ) => {
    connections.add(remoteAddr.port);
    using held = await reader.read(request, 16 * KIB);
    if ("failure" in held.body) return new Response(held.body.failure, { status: 500 });
    return new Response(held.body.bytes.slice());
  });
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
  for (let turn = 0; turn < 100; turn++) {
    // Fewer bytes than the connection's first buffer holds, as many, and more than its later ones do.
    const body = bytes([0, 1, 700, 1_024, 3_000, 16 * KIB][turn % 6] ?? 0, turn);
    const answer = await fetch(`http://127.0.0.1:${server.addr.port}/`, {
      method: "POST",
      body,
      client,
    });
    assertEquals([answer.status, await answer.bytes()], [200, body]);
  }
  // The client opens another one where the last is not free yet.
  assertLess(connections.size, 50);
});
