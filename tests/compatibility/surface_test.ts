/** The public surface keeps its parts within a major version. src/docs/versions.md lists them. */
import { assertEquals } from "@std/assert";
import { surfaceNow, surfaceOfRelease } from "./record.ts";
import { breaksOf, type Surface } from "./surface.ts";

Deno.test("nothing that others build on has gone since the last release", async (t) => {
  const now = await surfaceNow();
  for (const part of Object.keys(now) as (keyof Surface)[]) {
    await t.step(
      part,
      async () => assertEquals(breaksOf(await surfaceOfRelease(part), now[part]), []),
    );
  }
});

Deno.test("what breaks those who build on a release is told from what does not", () => {
  const release = [
    "AInput is object",
    "AInput.name is string",
    "AInput.size may be absent",
    "AInput.size is integer",
    "A.id is string",
    "A.id is always there",
    'A.state is "done"',
    "GET /as/",
  ];
  const without = (...lines: string[]) => release.filter((line) => !lines.includes(line));
  const cases: [change: string, now: string[], breaks: string[]][] = [
    ["an operation less", without("GET /as/"), ["gone: GET /as/"]],
    ["an operation more", [...release, "POST /as/"], []],
    ["a field less in an answer", without("A.id is string", "A.id is always there"), [
      "gone: A.id is string",
      "gone: A.id is always there",
    ]],
    ["an answer that may lack a field", without("A.id is always there"), [
      "gone: A.id is always there",
    ]],
    ["a field more in an answer", [...release, "A.size is integer", "A.size is always there"], []],
    ["a value more in an answer", [...release, 'A.state is "begun"'], []],
    ["a field of a request that must be given", without("AInput.size may be absent"), [
      "gone: AInput.size may be absent",
    ]],
    ["a new field of a request that must be given", [...release, "AInput.new is string"], [
      "must be given now: AInput.new",
    ]],
    ["a new field of a request", [
      ...release,
      "AInput.new is string",
      "AInput.new may be absent",
    ], []],
    ["another type", [...without("AInput.size is integer"), "AInput.size is string"], [
      "gone: AInput.size is integer",
    ]],
    ["one type more in a request", [...release, "AInput.size is string"], []],
  ];
  for (const [change, now, breaks] of cases) assertEquals(breaksOf(release, now), breaks, change);
});
