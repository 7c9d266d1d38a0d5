/**
 * The entry. An older Deno cannot read all of what follows, so its version is checked before that is loaded.
 *
 * @module
 */
import "./deno_version.ts";

const { main } = await import("./commands/program.ts");
await main(Deno.args);
