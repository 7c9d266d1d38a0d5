/** Following a log over connections that are lost: each line once, from where the last one was. */
import { assertEquals, assertRejects } from "@std/assert";
import { ApiClient, ApiError } from "../../../src/commands/api/client.ts";
import { followLog } from "../../../src/commands/api/follow.ts";
import { printFollowed } from "../../../src/commands/api/print_log.ts";
import type { LogLine } from "../../../src/engines/engine.ts";

const ID = "01900000-0000-7000-8000-000000000000";
const EVENTS = { headers: { "content-type": "text/event-stream" } };

/** Follows the log of a service that answers so, one connection after the other. */
async function follow(answers: readonly (() => Response)[], asked: (string | null)[] = []) {
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    asked.push(request.headers.get("last-event-id"));
    return answers[asked.length - 1]?.() ?? new Response(null, { status: 404 });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const log = followLog(new ApiClient({ url, token: "x" }), ID);
  const messages: string[] = [];
  for (;;) {
    const { done, value } = await log.next();
    if (done) return { asked, messages, end: value };
    messages.push(...value.map(({ message }: LogLine) => message));
  }
}

const line = (id: number, message: string) => `id: ${id}\ndata: {"message":"${message}"}\n\n`;

Deno.test("a log is followed behind the last line that came, wherever its connection was lost", async () => {
  const { asked, messages, end } = await follow([
    // One that is just starting.
    () => new Response(null, { status: 503 }),
    () => new Response(line(1, "a") + line(2, "b") + line(3, "c").slice(0, -1), EVENTS),
    () => new Response(": nothing yet\n\n", EVENTS),
    () =>
      new Response(`${line(3, "c")}event: end\ndata: {"status":"error","exit_code":7}\n\n`, EVENTS),
  ]);
  assertEquals(asked, [null, null, "2", "2"]);
  assertEquals(messages, ["a", "b", "c"]);
  assertEquals(end, { status: "error", exit_code: 7 });
});

Deno.test("the attempts of an execution are followed one after the other, each by its number", async () => {
  const logs: Record<string, string> = {
    2: `${line(1, "a")}event: end\ndata: {"status":"error","next_attempt":3}\n\n`,
    3: `${line(1, "b")}event: end\ndata: {"status":"complete"}\n\n`,
  };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    const attempt = new URL(url).searchParams.get("attempt");
    return attempt === null
      ? Response.json({ attempt: 2 })
      : new Response(logs[attempt] ?? "", EVENTS);
  });
  const api = new ApiClient({ url: `http://127.0.0.1:${server.addr.port}`, token: "x" });
  const printed: string[] = [];
  const print = (lines: readonly LogLine[]) => {
    printed.push(...lines.map(({ message }) => message));
    return Promise.resolve();
  };
  assertEquals(await printFollowed(api, ID, print), 0);
  assertEquals(printed, ["a", "Log of attempt 3", "b"]);
  assertEquals(await printFollowed(api, ID, print, 2), 2);
});

Deno.test("a log that there is not any more is not waited for", async () => {
  const asked: (string | null)[] = [];
  const following = () => follow([() => new Response(line(1, "a"), EVENTS)], asked);
  await assertRejects(following, ApiError, "The service answered 404");
  assertEquals(asked, [null, "1"]);
});
