/** A deleted trigger's pending runs go on and are shown; its log and deliveries are found by its name. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, endOfRun, startService } from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";

Deno.test("the pending run of a deleted trigger goes on, and is found by the trigger's name", async () => {
  await using service = await startService();
  // A repository whose server takes connections and answers none: the run is pending as long.
  const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const asked = Promise.withResolvers<void>();
  const accepting = (async () => {
    for await (const connection of server) {
      connections.push(connection);
      asked.resolve();
    }
  })();
  const repository = `http://127.0.0.1:${server.addr.port}/slow.git`;
  const put = await service.api("PUT", "projects/slow/", { name: "slow", repository });
  assertEquals(put.status, 201);
  const { id, url } = await service.trigger({
    name: "former",
    project: "slow",
    actions: [{ type: "run_execution", step: "echo" }],
    response: { type: "text", text: "{run_id}" },
  });
  const run_id = await (await fetch(url, { method: "POST", body: "x" })).text();
  await asked.promise;
  const hooklaunch = async (...args: string[]) => {
    const ended = await runHosted([...args, "--url", service.url], {
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assertEquals(ended.code, 0, ended.printed);
    return ended.printed;
  };
  const deleted = await hooklaunch("trigger", "delete", "former", "--yes");
  assertStringIncludes(deleted, "What it has launched goes on: hooklaunch runs --trigger former");
  assertEquals((await service.api("GET", `triggers/${id}/`)).status, 404);

  // It is shown as pending, by the name of the trigger that is gone.
  assertMatch(
    await hooklaunch("runs", "--trigger", "former"),
    new RegExp(`\n${run_id} +${id} +pending `),
  );
  assertEquals(await hooklaunch("deliveries", "--trigger", "former", "-q"), `${run_id}\n`);

  // Its action fails when the server goes away: the run ends, and the log tells why.
  server.close();
  for (const connection of connections) connection.close();
  await accepting;
  const { status } = await endOfRun(service, run_id);
  assertEquals(status, "error");
  assertMatch(await hooklaunch("runs", "--trigger", "former"), new RegExp(`\n${run_id} .* error `));
  assertMatch(
    await hooklaunch("trigger", "log", "former"),
    new RegExp(`failed +run_execution \\(actions/0\\): [^]*run ${run_id}`),
  );
});
