/** Reading server-sent events: the examples of the standard, whatever pieces they come in. */
import { assertEquals, assertRejects } from "@std/assert";
import { ApiError } from "../../../src/commands/api/client.ts";
import { readEvents } from "../../../src/commands/api/server_sent_events.ts";

const SILENCE = { stall_timeout_ms: 5_000 };

async function read(text: string, pieceLength: number) {
  const bytes = new TextEncoder().encode(text);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length; start += pieceLength) {
    pieces.push(bytes.slice(start, start + pieceLength));
  }
  return (await Array.fromAsync(readEvents(ReadableStream.from(pieces), SILENCE))).flat();
}

Deno.test("events are read as the standard says", async (t) => {
  const cases: [
    name: string,
    text: string,
    ...events: [event: string, data: string, id: string][],
  ][] = [
    ["one of several lines", "data: YHOO\ndata: +2\ndata: 10\n\n", ["message", "YHOO\n+2\n10", ""]],
    [
      "comments, ids, an id that is taken back",
      ": test stream\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
      ["message", "first", "1"],
      ["message", "second", ""],
      ["message", " third", ""],
    ],
    ["empty data", "data\n\ndata\ndata\n\ndata:", ["message", "", ""], ["message", "\n", ""]],
    ["one blank is left out", "data:test\n\ndata: test\n\n", ["message", "test", ""], [
      "message",
      "test",
      "",
    ]],
    ["types", "event: add\ndata: 73\n\ndata: 1\n\n", ["add", "73", ""], ["message", "1", ""]],
    ["without data there is no event", "event: add\nid: 7\n\ndata: 1\n\n", ["message", "1", ""]],
    ["every line break", "data: a\r\ndata: b\r\rdata: c\r\n\r\n", ["message", "a\nb", ""], [
      "message",
      "c",
      "",
    ]],
    ["a byte order mark, UTF-8", "\ufeffdata: ü€\n\n", ["message", "ü€", ""]],
    ["unknown fields, colons", "retry: 10\nfoo: 1\ndata: a:b\n\n", ["message", "a:b", ""]],
    ["an id with NUL is none", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", ["message", "a", "1"], [
      "message",
      "b",
      "1",
    ]],
    ["cut off", "data: a\n\ndata: b\n", ["message", "a", ""]],
  ];
  for (const [name, text, ...expected] of cases) {
    for (const pieceLength of [1, 2, 7, 1_000]) {
      await t.step(`${name}, in pieces of ${pieceLength}`, async () => {
        const events = await read(text, pieceLength);
        assertEquals(events.map(({ event, data, id }) => [event, data, id]), expected);
      });
    }
  }
});

Deno.test("an event without an end does not fill the memory", async () => {
  await assertRejects(
    () => read(`data: ${"x".repeat(5_000_000)}`, 65_536),
    ApiError,
    "longer than",
  );
  await assertRejects(() => read("data: xxxxxxxxxxxxxxx\n".repeat(300_000), 65_536), ApiError);
});

Deno.test("a connection that says nothing is given up", async () => {
  const silent = new ReadableStream<Uint8Array<ArrayBuffer>>();
  await assertRejects(
    () => Array.fromAsync(readEvents(silent, { stall_timeout_ms: 20 })),
    Error,
    "Nothing came for 0.02 s",
  );
});
