/**
 * What becomes of a sender that asks for an upgrade to HTTP/2 over plain HTTP, as Java's HttpClient does.
 * Deno 2.9 refuses it before anyone sees it where the request has a body. When this test fails with a
 * newer Deno, the line that `serve --dev` logs and the row in troubleshooting.md can go.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { startService } from "../data.ts";

const UPGRADE = [
  "Connection: Upgrade, HTTP2-Settings",
  "Upgrade: h2c",
  "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
].join("\r\n");

Deno.test("a POST that asks for an upgrade gets an empty 400, and a GET is answered over HTTP/1.1", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  const ask = async (head: string) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
    await connection.write(new TextEncoder().encode(head));
    const buffer = new Uint8Array(1_024);
    const count = await connection.read(buffer);
    return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
  };
  const path = `/api/v0/launch/${id}/`;
  const post =
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\nContent-Length: 1\r\n\r\nx`;
  assertMatch(await ask(post), /^HTTP\/1\.1 400 [^]*\r\ncontent-length: 0\r\n[^]*\r\n\r\n$/i);
  const get = `GET ${path}run/?run_id=${id} HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n\r\n`;
  assertMatch(await ask(get), /^HTTP\/1\.1 404 /);
  const { body } = await service.api("GET", `triggers/${id}/runs/`);
  assertEquals(body.results, []);
});
