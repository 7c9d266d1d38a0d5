/** The entry answers on a Deno that cannot load the service: an older one, or one without unstable features. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Entry, missingOfDeno } from "../../src/hosted/entry.ts";

const has = { openKv() {}, cron() {} };

Deno.test("a Deno that lacks something is told of", () => {
  const cases = [
    { deno: { version: { deno: "2.9.6" }, ...has }, missing: [] },
    { deno: { version: { deno: "2.10.0" }, ...has }, missing: [] },
    { deno: { version: { deno: "2.5.0" }, ...has }, missing: [/2\.9\.6 or later.* 2\.5\.0/] },
    { deno: { version: { deno: "2.9.5" } }, missing: [/2\.9\.6 or later.* 2\.9\.5/] },
    {
      deno: { version: { deno: "2.9.6" } },
      missing: [/Deno\.openKv is missing.*"kv"/, /Deno\.cron is missing.*"cron"/],
    },
  ];
  for (const { deno, missing } of cases) {
    const found = missingOfDeno(deno);
    assertEquals(found.length, missing.length, found.join());
    for (const [index, pattern] of missing.entries()) assertMatch(found[index] ?? "", pattern);
  }
});

Deno.test("the version that it needs is that of the command line", async () => {
  const text = await Deno.readTextFile(new URL("../../src/deno_version.ts", import.meta.url));
  const [, needed = ""] = /NEEDED = "([\d.]+)"/.exec(text) ?? [];
  assertEquals(missingOfDeno({ version: { deno: needed }, ...has }), []);
  assertMatch(missingOfDeno({ version: { deno: "2.0.0" } }).join(), new RegExp(`^Deno ${needed} `));
});

Deno.test("what cannot be loaded is told at /readyz and on the first page, and /healthz answers", async () => {
  const entry = new Entry(() => Promise.reject(new SyntaxError("Expected <this>")));
  const info = {
    remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 },
    completed: Promise.resolve(),
  } as const;
  const at = (path: string) => entry.answer(new Request(`https://h.example.com${path}`), info);
  assertEquals((await at("/healthz")).status, 200);
  const ready = await at("/readyz");
  assertEquals([ready.status, ready.headers.get("retry-after")], [503, "60"]);
  assertStringIncludes(await ready.text(), "Expected <this>");
  assertStringIncludes(await (await at("/")).text(), "Expected &lt;this>");
  const launch = await at("/api/v0/launch/1/");
  assertEquals([launch.status, await launch.json()], [
    503,
    { title: "Service Unavailable", status: 503 },
  ]);
  await entry.cron("sweep");
  await entry.stop();
});
