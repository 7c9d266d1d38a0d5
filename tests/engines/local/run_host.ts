/**
 * A process that hosts an engine and runs one execution, for tests that change its environment. It is given
 * a folder, fields of the execution and settings of the engine, and prints the record at the end. Given
 * `stop` besides, it asks the execution to stop when it runs or waits for its runner, and prints also how long that
 * took, what came of it, and what it waited for.
 *
 * @module
 */
import { EngineFixture, until } from "../fixture.ts";

const [folder = "", fields = "{}", settings = "{}", stop = ""] = Deno.args;
await using fixture = await EngineFixture.make({ settings: JSON.parse(settings) }, folder);
if (stop === "") {
  const execution = await fixture.run("echo ran", JSON.parse(fields));
  console.log(
    JSON.stringify({ ...execution, printed: await fixture.printed(execution.id, "stdout") }),
  );
} else {
  const id = await fixture.submit("echo ran; sleep 100", JSON.parse(fields));
  await until(async () =>
    (await fixture.record(id)).reachable === false ||
    (await fixture.printed(id, "stdout")).length === 1
  );
  const { waiting: waited } = await fixture.record(id);
  const began_ms = performance.now();
  await fixture.engine.stop(id);
  const stop_ms = performance.now() - began_ms;
  const { status: stopped_as } = await fixture.record(id);
  console.log(JSON.stringify({ ...await fixture.ended(id), stop_ms, stopped_as, waited }));
}
