/**
 * A process that hosts an engine and runs one execution, for tests that change its environment. It is given
 * a folder, fields of the execution and settings of the engine, and prints the record at the end.
 *
 * @module
 */
import { EngineFixture } from "./fixture.ts";

const [folder = "", fields = "{}", settings = "{}"] = Deno.args;
await using fixture = await EngineFixture.make({ settings: JSON.parse(settings) }, folder);
console.log(JSON.stringify(await fixture.run("echo ran", JSON.parse(fields))));
