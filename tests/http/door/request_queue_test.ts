/** Requests that come all at once begin some in each turn of the event loop, and none waits for too long. */
import { assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import { systemClock } from "../../../src/platform/clock.ts";
import { withRequestQueue } from "../../../src/http/door/request_queue.ts";
import { eventually, startService } from "../../data.ts";

/** How many begin in one turn. */
const PER_TURN = 128;
/** How many are turned away in one. */
const TURNED_AWAY = 512;
const LAUNCH = "http://localhost/api/v0/launch/01900000-0000-7000-8000-000000000001/";

/** A queue with a clock of its own, and what is told of each request, in the order in which it is. */
function queueAt(now: { ms: number; isBusy?: boolean }) {
  const told: string[] = [];
  const handle = withRequestQueue(
    (request, { waited_ms, isLate }) => {
      const wait = waited_ms === undefined ? "" : ` after ${waited_ms} ms`;
      told.push(`${request.headers.get("name")}${wait}${isLate ? ", too late" : ""}`);
      return new Response();
    },
    { steady: () => now.ms },
    () => now.isBusy ?? false,
  );
  const remoteAddr: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 };
  const come = (name: string, url = LAUNCH) => {
    const request = new Request(url, { headers: { name } });
    void handle(request, { remoteAddr, completed: Promise.resolve() });
  };
  /** Lets one turn pass, and answers what was told in it. */
  const next = async () => {
    told.length = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
    return [...told];
  };
  return { come, told, next };
}

const names = (first: number, count: number, end = "") =>
  Array.from({ length: count }, (_, index) => `${first + index}${end}`);

Deno.test("of many requests that come at once, each turn begins so many, in their order", async () => {
  const now = { ms: 0 };
  const { come, told, next } = queueAt(now);
  for (const name of names(0, 3 * PER_TURN - 4)) come(name);
  assertEquals(told, names(0, PER_TURN));
  now.ms = 5;
  assertEquals(await next(), names(PER_TURN, PER_TURN, " after 5 ms"));
  come("last");
  now.ms = 9;
  const rest = names(2 * PER_TURN, PER_TURN - 4, " after 9 ms");
  assertEquals(await next(), [...rest, "last after 4 ms"]);
  assertEquals(await next(), []);
});

Deno.test("requests that come one after the other never wait, nor do those of operators", async () => {
  const { come, told, next } = queueAt({ ms: 0 });
  for (const name of names(0, 5 * PER_TURN)) {
    come(name);
    assertEquals(told, [name]);
    await next();
  }
  for (const name of names(0, 2 * PER_TURN)) come(name);
  come("metrics", "http://localhost/metrics");
  assertEquals(told.at(-1), "metrics");
  await next();
});

Deno.test("while launches cannot be stored, others wait, and run info is answered", async () => {
  const now = { ms: 0, isBusy: true };
  const { come, told, next } = queueAt(now);
  come("launch");
  come("with a query", `${LAUNCH}?from=/run/7`);
  come("run info", `${LAUNCH}run/?id=7`);
  assertEquals(told, ["run info"]);
  assertEquals(await next(), []);
  now.isBusy = false;
  come("behind");
  now.ms = 3;
  await eventually(() => told.length === 3 || undefined);
  assertEquals(told, ["launch after 3 ms", "with a query after 3 ms", "behind after 3 ms"]);
});

Deno.test("a launch whose path is percent-encoded waits like any other", async () => {
  const now = { ms: 0, isBusy: true };
  const { come, told, next } = queueAt(now);
  come("encoded", LAUNCH.replace("launch", "%6Caunc%68"));
  come("run info", `${LAUNCH}%72un/?id=7`);
  come("operator", "http://localhost/api/v0/triggers/?q=%2Fapi%2Fv0%2Flaunch%2F");
  assertEquals(told, ["run info", "operator"]);
  await next();
  assertEquals(told, []);
  now.isBusy = false;
  await eventually(() => told.length > 0 || undefined);
  assertEquals(told, ["encoded after 0 ms"]);
});

Deno.test("what waits for its turn waits on while launches cannot be stored", async () => {
  const now = { ms: 0, isBusy: false };
  const { come, told, next } = queueAt(now);
  for (const name of names(0, PER_TURN + 2)) come(name);
  now.isBusy = true;
  assertEquals(await next(), []);
  now.isBusy = false;
  await eventually(() => told.length > 0 || undefined);
  assertEquals(told, names(PER_TURN, 2, " after 0 ms"));
});

Deno.test("a request that has waited for two seconds is turned away, and a younger one begins", async () => {
  const now = { ms: 0 };
  const { come, next } = queueAt(now);
  for (const name of names(0, PER_TURN)) come(name);
  come("early");
  now.ms = 100;
  come("late");
  now.ms = 2_001;
  assertEquals(await next(), ["early after 2001 ms, too late", "late after 1901 ms"]);
});

Deno.test("where more have waited for too long than a turn turns away, the last to come begin", async () => {
  const now = { ms: 0 };
  const { come, next } = queueAt(now);
  const count = 2 * PER_TURN + 2 * TURNED_AWAY;
  for (const name of names(0, count)) come(name);
  now.ms = 3_000;
  come("young");
  const late = (first: number) => names(first, TURNED_AWAY, " after 3000 ms, too late");
  const lastToCome = names(count - PER_TURN + 1, PER_TURN - 1, " after 3000 ms").toReversed();
  assertEquals(await next(), [...late(PER_TURN), "young after 0 ms", ...lastToCome]);
  const left = `${PER_TURN + 2 * TURNED_AWAY} after 3000 ms`;
  assertEquals(await next(), [...late(PER_TURN + TURNED_AWAY), left]);
});

Deno.test("of requests that come at once, those are answered 503 that have waited for too long", async () => {
  let steady_ms = 0;
  // Each look at this clock finds it some seconds later.
  const clock = { ...systemClock, steady: () => steady_ms += 3_000 };
  await using service = await startService({ clock });
  const { url } = await service.trigger({ enabled: false });
  const launch = async () => {
    const answer = await fetch(url, { method: "POST", body: "x" });
    await answer.body?.cancel();
    return `${answer.status} ${answer.headers.get("retry-after")}`;
  };
  // How many come in one turn is a matter of chance.
  const answers = await eventually(async () => {
    const burst = await Promise.all(Array.from({ length: 4 * PER_TURN }, launch));
    return burst.some((answer) => answer.startsWith("503")) ? new Set(burst) : undefined;
  }, { what: "a launch that was turned away" });
  assertEquals(answers, new Set(["400 null", "503 1"]));
});
