/**
 * `deno task test`: every test that this machine can run. Arguments go to `deno test`, such as a file
 * or `--filter`.
 *
 * @module
 */
import { has, OPTIONAL_COMMANDS } from "./needs.ts";

if (!has("git")) {
  console.error("The tests need git: install it first, such as with apt-get install git");
  Deno.exit(1);
}
const missing = Object.entries(OPTIONAL_COMMANDS)
  // The names are the keys of the object itself.
  .filter(([command]) => !has(command as keyof typeof OPTIONAL_COMMANDS));

const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    "test",
    "--parallel",
    "--sanitize-ops",
    "--sanitize-resources",
    "--allow-read",
    "--allow-write",
    "--allow-env",
    "--allow-net=127.0.0.1,localhost,[::1],0.0.0.0",
    `--allow-run=${Deno.execPath()},git,sh,bash`,
    ...Deno.args.length > 0 ? Deno.args : ["tests/"],
  ],
}).spawn().status;

for (const [command, what] of missing) {
  console.log(`Left out: ${what}, since ${command} is not installed, or cannot be reached`);
}
Deno.exit(code);
