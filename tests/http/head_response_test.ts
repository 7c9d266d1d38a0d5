/** Answers to HEAD: their length is that of GET, or is left out (RFC 9110, section 8.6). */
import { assertEquals } from "@std/assert";
import { startService } from "../data.ts";
import { AUTHORIZED } from "./api/fixture.ts";

Deno.test("HEAD says no other length than GET", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  const cases: [path: string, status: number][] = [
    ["healthz", 200],
    ["readyz", 200],
    ["metrics", 200],
    ["api/v0/openapi.json", 200],
    ["api/v0/docs/", 200],
    ["api/v0/triggers/", 200],
    [`api/v0/triggers/${id}/`, 200],
    ["api/v0/triggers/nothing/", 404],
    ["api/v0/tokens/nothing/", 405],
    ["nothing", 404],
    [`api/v0/launch/${id}/`, 405],
    [`api/v0/launch/${id}/run/`, 405],
  ];
  for (const [path, status] of cases) {
    await t.step(path, async () => {
      const answer = await fetch(`${service.url}/${path}`, { method: "HEAD", headers: AUTHORIZED });
      assertEquals(await answer.text(), "");
      assertEquals([answer.status, answer.headers.get("content-length")], [status, null]);
    });
  }
});
