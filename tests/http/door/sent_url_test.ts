/**
 * A signature over the URL is one over the query byte for byte as it was sent. Requests are written on
 * a connection by hand, since `fetch` writes queries in a way of its own.
 */
import { assertMatch } from "@std/assert";
import { createHmac } from "node:crypto";
import { SECRET, startService } from "../../data.ts";

const CONDITION = {
  type: "hmac",
  algorithm: "sha256",
  header: "X-Signature",
  signed_content: "{url}{body}",
  secrets: [SECRET],
};

/** Sends a request with a signature of `signed`, and reads what is answered. */
async function send(port: number, target: string, signed: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = [
    `POST ${target} HTTP/1.1`,
    "Host: localhost",
    `X-Signature: ${createHmac("sha256", SECRET).update(signed).digest("hex")}`,
    "Connection: close",
    "Content-Length: 1",
    "",
    "x",
  ];
  await connection.write(new TextEncoder().encode(lines.join("\r\n")));
  return await new Response(connection.readable).text();
}

Deno.test("the URL that is signed has the query as it was sent", async (t) => {
  await using service = await startService();
  const { url } = await service.trigger({ conditions: [CONDITION] });
  const { port } = service.service;
  const path = new URL(url).pathname;
  for (const query of ["", "?", "?a='b'", '?a="b"', "?a=<b>", "?a=%27b%7e", "?a=b?c", "?a=+%20"]) {
    await t.step(JSON.stringify(query), async () => {
      const signed = `${url}${query}x`;
      assertMatch(await send(port, path + query, signed), /^HTTP\/1\.1 200 /);
      assertMatch(await send(port, `${path}${query}?`, signed), /^HTTP\/1\.1 400 /);
    });
  }
});
