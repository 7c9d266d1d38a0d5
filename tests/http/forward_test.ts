/** Requests that one instance forwards to another. */
import { Hono } from "@hono/hono";
import { assertEquals } from "@std/assert";
import { forwardToLeader, Hops, type Leading } from "../../src/http/forward.ts";
import { TestClock } from "../surroundings.ts";

const PATH = "/api/v0/executions/01900000-0000-7000-8000-000000000001/log/";

/** Instances whose machines' addresses all lead to the same one. */
function instance() {
  const hops = new Hops("a-secret-of-all-instances", new TestClock());
  const leading: Leading = {
    isHere: true,
    url: undefined,
    placeOf: () => Promise.resolve({ isHere: false, url }),
  };
  let requests = 0;
  const app = new Hono();
  app.use("*", (_context, next) => {
    requests++;
    return next();
  });
  app.use("*", forwardToLeader(leading, hops, () => ({ ip: "127.0.0.1", secure: true })));
  app.all("*", (context) => context.text("here"));
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => app.fetch(request),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, count: () => requests, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("forward: what was forwarded once is not forwarded again, wherever an address leads", async () => {
  await using shared = instance();
  const answer = await fetch(shared.url + PATH);
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "1"]);
  await answer.body?.cancel();
  assertEquals(shared.count(), 2);
});

Deno.test("forward: the leader answers what is not on another machine", async () => {
  await using shared = instance();
  assertEquals(await (await fetch(`${shared.url}/api/v0/triggers/`)).text(), "here");
});
