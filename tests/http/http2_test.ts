/**
 * Answers over HTTP/2 that do not wait for the body: curl 7.88, Node, Java and httpx miss an answer that
 * comes while they still send.
 */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { ADMIN_TOKEN, startService } from "../data.ts";
import { has } from "../needs.ts";
import { serveRoutes } from "./routes.ts";

const MIB = 1_024 * 1_024;
/** Reads the whole body before it is sent, with its length. */
const WHOLE = ["--data-binary", "@-"];
/** Sends the body as it comes, without a length. */
const STREAMED = ["--request", "POST", "--upload-file", "-"];
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";

/** Sends a body by curl over HTTP/2, and returns the status and the version of HTTP. */
async function curl(
  url: string,
  { body, options = WHOLE }: {
    body: Uint8Array<ArrayBuffer> | ReadableStream;
    options?: string[];
  },
): Promise<string> {
  const args = ["--silent", "--show-error", "--http2-prior-knowledge", "--max-time", "20"];
  const output = ["--output", "/dev/null", "--write-out", "%{http_code} HTTP/%{http_version}"];
  const { stdin, stdout } = new Deno.Command("sh", {
    args: ["-c", 'exec curl "$@"', "curl", ...args, ...output, ...options, url],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await ReadableStream.from(body instanceof Uint8Array ? [body] : body).pipeTo(stdin)
    .catch(() => {
      // curl ended before it had read all.
    });
  return await new Response(stdout).text();
}

Deno.test({
  name: "over HTTP/2, a sender of a body that is not wanted gets its answer",
  ignore: !has("curl"),
  fn: async (t) => {
    await using service = await startService({ settings: { payloadBytesMax: MIB } });
    await using server = serveRoutes(service, {});
    const open = await service.trigger();
    const disabled = await service.trigger({ enabled: false });
    const token = ["--header", `Authorization: Bearer ${ADMIN_TOKEN}`, ...WHOLE];
    const cases: [name: string, path: string, status: number, options?: string[]][] = [
      ["a launch", new URL(open.url).pathname, 413],
      ["a launch of a disabled trigger", new URL(disabled.url).pathname, 413],
      ["a launch by PUT", new URL(open.url).pathname, 405, ["--request", "PUT", ...WHOLE]],
      ["a launch of an unknown trigger", `/api/v0/launch/${UNKNOWN_ID}/`, 404],
      ["run info", `${new URL(open.url).pathname}run/`, 413],
      ["an operator without a token", "/api/v0/triggers/", 401],
      ["an operator", "/api/v0/triggers/", 413, token],
    ];
    const body = new Uint8Array(8 * MIB);
    for (const [name, path, status, options] of cases) {
      await t.step(name, async () => {
        const url = `http://127.0.0.1:${server.port}${path}`;
        assertEquals(await curl(url, { body, ...(options && { options }) }), `${status} HTTP/2`);
      });
    }
    await t.step("a launch in DATA frames without a length", async () => {
      const url = `http://127.0.0.1:${server.port}${new URL(open.url).pathname}`;
      assertEquals(await curl(url, { body, options: STREAMED }), "413 HTTP/2");
    });
    await t.step("a body at the limit of a disabled trigger", async () => {
      const url = `http://127.0.0.1:${server.port}${new URL(disabled.url).pathname}`;
      assertEquals(await curl(url, { body: new Uint8Array(MIB) }), "400 HTTP/2");
    });
  },
});

Deno.test({
  name: "over HTTP/2, a sender that is too slow gets its answer",
  ignore: !has("curl"),
  fn: async () => {
    await using service = await startService();
    await using server = serveRoutes(service, { timeout_ms: 300 });
    const { url } = await service.trigger();
    const ended = new AbortController();
    const slow = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new Uint8Array(30_000));
        await delay(50, { signal: ended.signal }).catch(() => {});
      },
      cancel: () => ended.abort(),
    });
    const target = `http://127.0.0.1:${server.port}${new URL(url).pathname}`;
    assertEquals(await curl(target, { body: slow, options: STREAMED }), "408 HTTP/2");
  },
});
