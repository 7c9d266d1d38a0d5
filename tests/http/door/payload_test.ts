import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { endOfExecution, endOfRun, startService } from "../../data.ts";

const MIB = 1024 * 1024;

Deno.test("a payload arrives in the step's input byte for byte, whatever it is", async (t) => {
  await using service = await startService();
  const trigger = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const cases: { name: string; body: Uint8Array<ArrayBuffer>; type?: string; file: string }[] = [
    { name: "nothing", body: new Uint8Array(), file: "payload" },
    {
      name: "JSON",
      body: bytes('{"a": 1}\r\n'),
      type: "application/json; charset=utf-8",
      file: "payload.json",
    },
    {
      name: "JSON of a type whose parameter is none",
      body: bytes("[]"),
      type: "application/json;; charset=",
      file: "payload.json",
    },
    {
      name: "a JSON dialect",
      body: bytes("{}"),
      type: "application/vnd.api+json",
      file: "payload.json",
    },
    {
      name: "a form",
      body: bytes("a=b+c"),
      type: "application/x-www-form-urlencoded",
      file: "payload.txt",
    },
    { name: "text", body: bytes("\ufeffhé\0"), type: "text/plain", file: "payload.txt" },
    { name: "an image", body: random(70_000), type: "image/png", file: "payload.png" },
    {
      name: "bytes",
      body: random(60 * 1024),
      type: "application/octet-stream",
      file: "payload.bin",
    },
    { name: "an unknown type", body: random(10), type: "nonsense", file: "payload" },
    { name: "a type that tries", body: random(10), type: "application/../../x", file: "payload" },
    { name: "16 MiB", body: random(16 * MIB), type: "application/zip", file: "payload.zip" },
  ];
  for (const { name, body, type, file } of cases) {
    await t.step(name, async () => {
      const answer = await fetch(trigger.url, {
        method: "POST",
        headers: type === undefined ? {} : { "content-type": type },
        body,
      });
      const run = await endOfRun(service, await answer.text());
      assertEquals(run.status, "completed", JSON.stringify(run.actions));
      const execution = await endOfExecution(service, run.actions[0].created.execution_id);
      assertEquals(execution.status, "complete", execution.reason);
      assertEquals(execution.outputs.map(({ path }: { path: string }) => path), [file]);
      assertEquals(execution.outputs[0].size, body.length);
      assertEquals(execution.outputs[0].sha256, createHash("sha256").update(body).digest("hex"));
    });
  }
});

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function random(length: number): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(made.subarray(at, Math.min(length, at + 65_536)));
  }
  return made;
}

Deno.test("the limit of a body is the same whatever its type is, with a length and in chunks", async () => {
  await using service = await startService({ settings: { payloadBytesMax: 1_000 } });
  const { url } = await service.trigger({ actions: [{ type: "fetch_repository" }] });
  for (
    const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/json",
      "application/octet-stream",
    ]
  ) {
    for (const [length, status] of [[1_000, 200], [1_001, 413]] as const) {
      const body = `a=1&b=${"x".repeat(length - 6)}`;
      for (const sent of [body, new Blob([body]).stream()]) {
        const answer = await fetch(url, {
          method: "POST",
          headers: { "content-type": type },
          body: sent,
        });
        await answer.body?.cancel();
        assertEquals(answer.status, status, `${type}, ${length} bytes`);
      }
    }
  }
});
