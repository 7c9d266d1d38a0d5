import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { runHosted as run } from "./hosted.ts";

Deno.test("help says what there is", async () => {
  const { code, printed } = await run(["--help"]);
  assertEquals(code, 0);
  for (const command of ["serve", "demo", "apply"]) assertStringIncludes(printed, command);
  assertEquals((await run(["--version"])).printed, `${config.version}\n`);
  const serve = await run(["serve", "--help"]);
  for (const name of ["TRUSTED_PROXY", "ADMIN_TOKEN", "SECRET_KEY"]) {
    assertStringIncludes(serve.printed, `HOOKLAUNCH_${name}`);
  }
  const defaults = [
    ["host <address>", '"127.0.0.1"'],
    ["port <number>", "8000"],
    ["data <folder>", '"./data"'],
    ["max-payload <size>", "16MiB"],
    ["retention-days <number>", "30"],
    ["max-executions <number>", "one a core"],
    ["stop-timeout <seconds>", "8"],
    ["log-level <level>", '"info"'],
  ];
  for (const [option, value] of defaults) {
    const said = serve.printed.replace(/\s+/g, " ");
    assertMatch(said, new RegExp(`--${option} ((?! --).)*default: ${value}[,)]`));
  }
  for (const command of [["apply"], ["trigger", "list"], ["send"]]) {
    const { printed } = await run([...command, "--help"]);
    assertStringIncludes(printed, "HOOKLAUNCH_ADMIN_TOKEN");
    assertMatch(printed, /default:\s+this\s+machine's/);
  }
  for (const asked of [["help", "trigger", "log"], ["trigger", "help", "log"]]) {
    const { code, printed } = await run(asked);
    assertEquals(code, 0);
    assertStringIncludes(printed, "at most 200");
  }
  assertStringIncludes((await run(["run", "list", "--help"])).printed, "at most (default: 50)");
  assertStringIncludes((await run(["secret-key", "rotate", "--help"])).printed, "SECRET_KEY");
});

Deno.test("an error in the arguments is said in few lines, without all of the help", async (t) => {
  const cases: [args: string[], env: Record<string, string>, says: string][] = [
    [["serve", "--port", "80000"], {}, "'80000' is invalid"],
    [["serve"], { HOOKLAUNCH_PORT: "80000" }, "from env 'HOOKLAUNCH_PORT'"],
    [["execution", "lis"], {}, "unknown command 'lis'"],
    [["run", "show", "x"], {}, "Expected an id, such as"],
    [["help", "exection"], {}, "unknown command 'exection'"],
    [["help", "execution", "lis"], {}, "unknown command 'lis'"],
    [["execution", "help", "lis"], {}, "unknown command 'lis'"],
  ];
  for (const [args, env, says] of cases) {
    await t.step(args.join(" "), async () => {
      const { code, printed } = await run(args, env);
      assertEquals(code, 1);
      assertMatch(printed, /^hooklaunch: .*\n(\(Did you mean .*\n)?For help, add --help\n$/);
      assertStringIncludes(printed, says);
    });
  }
});
