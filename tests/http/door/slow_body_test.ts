/**
 * Bodies that do not arrive, over real HTTP: what stalls is answered with 408 when its time is up, what
 * breaks off with 400, and neither launches anything.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { serveRoutes } from "../routes.ts";

const TIMEOUT_MS = 300;

/** What a sender does that has begun its body: wait, or say that nothing more comes. */
type Then = "stall" | "break off";

/** Sends the beginning of a request, and reads what is answered: one object in JSON. */
async function begin(port: number, path: string, lines: string[], then: Then): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${ADMIN_TOKEN}`];
  await connection.write(new TextEncoder().encode([...head, ...lines].join("\r\n")));
  if (then === "break off") await connection.closeWrite();
  let answer = "";
  for await (const text of connection.readable.pipeThrough(new TextDecoderStream())) {
    answer += text;
    if (answer.endsWith("}")) break;
  }
  return answer;
}

const bodies: [how: string, lines: string[]][] = [
  ["a short body", ["Content-Length: 10", "", "run"]],
  ["a body of which nothing comes", ["Content-Length: 10", "", ""]],
  ["a long body", ["Content-Length: 50000", "", "x".repeat(30_000)]],
  ["a body in chunks", ["Transfer-Encoding: chunked", "", "3", "run", ""]],
];

Deno.test("a body that is too slow is answered with 408, one that breaks off with 400", async (t) => {
  await using service = await startService();
  await using impatient = serveRoutes(service, { timeout_ms: TIMEOUT_MS });
  const { id } = await service.trigger();
  const paths = [`/api/v0/launch/${id}/`, `/api/v0/launch/${id}/run/`, "/api/v0/triggers/"];
  for (const path of paths) {
    for (const [how, lines] of bodies) {
      await t.step(`${how}: ${path}`, async () => {
        const began_ms = performance.now();
        const late = await begin(impatient.port, path, lines, "stall");
        assertMatch(
          late,
          /^HTTP\/1\.1 408 [^]*\r\nconnection: close\r\n[^]*{"title":"Request Timeout","status":408/,
        );
        assertEquals(performance.now() - began_ms >= TIMEOUT_MS, true);
        const cut = await begin(impatient.port, path, lines, "break off");
        assertMatch(
          cut,
          /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n[^]*{"title":"Bad Request","status":400/,
        );
      });
    }
  }
  for (const list of ["runs", "log"]) {
    assertEquals((await service.api("GET", `triggers/${id}/${list}/`)).body.results, []);
  }
});
