import { assertEquals, assertStringIncludes } from "@std/assert";
import { run } from "./process.ts";

Deno.test("help says what there is", async () => {
  const { code, printed } = await run(["--help"]);
  assertEquals(code, 0);
  for (const command of ["serve", "demo", "apply"]) assertStringIncludes(printed, command);
  const serve = await run(["serve", "--help"]);
  for (const name of ["TRUSTED_PROXY", "ADMIN_TOKEN", "SECRET_KEY"]) {
    assertStringIncludes(serve.printed, `HOOKLAUNCH_${name}`);
  }
  for (const command of [["apply"], ["trigger", "list"], ["send"]]) {
    const { printed } = await run([...command, "--help"]);
    assertStringIncludes(printed, "HOOKLAUNCH_ADMIN_TOKEN");
  }
  assertStringIncludes((await run(["help", "trigger", "log"])).printed, "at most 200");
  assertStringIncludes((await run(["secret-key", "rotate", "--help"])).printed, "SECRET_KEY");
});
