/** Answers to HEAD: their length is that of GET, or is left out (RFC 9110, section 8.6). */
import { assertEquals } from "@std/assert";
import { endOfExecution, startService } from "../data.ts";
import { AUTHORIZED, launchCommand } from "./api/fixture.ts";
import { loggedIn } from "./console/fixture.ts";

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

Deno.test("HEAD of a page's stream or file holds no place, and leaves nothing open", async () => {
  await using service = await startService();
  const id = await launchCommand(service, `head -c 3000000 /dev/zero >"$VH_OUTPUTS_DIR/long"`);
  await endOfExecution(service, id);
  const { cookies } = await loggedIn(service);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const ask = async (method: string, path: string) => {
    const answer = await fetch(`${service.url}/${path}`, { method, headers: { cookie } });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await ask("HEAD", `executions/${id}/output?path=long`), 200);
  for (const path of ["deliveries/events", `executions/${id}/log/events`]) {
    // As many as may follow at once.
    for (let count = 0; count < 100; count++) assertEquals(await ask("HEAD", path), 200);
    assertEquals(await ask("GET", path), 200, path);
  }
});
