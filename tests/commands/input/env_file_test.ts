import { assertEquals, assertStringIncludes } from "@std/assert";
import { temporaryFolder } from "../../surroundings.ts";
import { runHosted as run } from "../hosted.ts";

Deno.test("--env-file sets variables that are not set, before or after the command's name", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/.env`;
  await Deno.writeTextFile(path, "# a comment\nHOOKLAUNCH_PORT=fromfile\n");
  for (const args of [["--env-file", path, "serve"], ["serve", `--env-file=${path}`]]) {
    const { code, printed } = await run(args);
    assertEquals(code, 1);
    assertStringIncludes(printed, "'fromfile' from env 'HOOKLAUNCH_PORT'");
  }
  const { printed } = await run(["--env-file", path, "serve"], { HOOKLAUNCH_PORT: "outer" });
  assertStringIncludes(printed, "'outer' from env 'HOOKLAUNCH_PORT'");
  assertStringIncludes(printed, "HOOKLAUNCH_PORT is set already to another value");
});

Deno.test("--env-file takes a file that begins with a byte order mark", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/.env`;
  await Deno.writeTextFile(path, "\ufeffHOOKLAUNCH_PORT=first\n");
  const { printed } = await run(["--env-file", path, "serve"]);
  assertStringIncludes(printed, "'first' from env 'HOOKLAUNCH_PORT'");
});

Deno.test("--env-file says which file it cannot read", async () => {
  const { code, printed } = await run(["--env-file", "/no/such/file", "trigger", "list"]);
  assertEquals(code, 1);
  assertStringIncludes(
    printed,
    "hooklaunch: Cannot accept --env-file: Cannot read /no/such/file: ",
  );
});

Deno.test("src/bin/hooklaunch runs what the task runs", async () => {
  const root = new URL("../../../", import.meta.url);
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const script = await Deno.readTextFile(new URL("src/bin/hooklaunch", root));
  const flagsOf = (command: string) => command.match(/--(allow|v8)\S+/g);
  assertEquals(flagsOf(script), flagsOf(tasks.hooklaunch.command));
});
