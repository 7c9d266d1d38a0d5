/** Secrets of projects from the command line and from configuration files, against a real service. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { parse } from "yaml";
import { ADMIN_TOKEN, startService, type TestService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const LITERAL = "a-literal-secret-of-the-tests";
const OTHER = "another-literal-of-the-tests";

function command(service: TestService, ...args: string[]) {
  return run([...args, "--url", service.url], { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN });
}

/** Writes a configuration file with the project, and answers its path. */
async function fileOf(service: TestService, fields: Record<string, unknown>): Promise<string> {
  const path = join(service.folder, "hooklaunch.yaml");
  const project = { name: "files", directory: `${service.folder}/project`, ...fields };
  await Deno.writeTextFile(path, JSON.stringify({ projects: [project] }));
  return path;
}

Deno.test("project secret sets, lists and removes secrets, and prints the lines of a file", async () => {
  await using service = await startService({ env: { TOKEN: OTHER } });
  await service.api("PUT", "projects/files/secrets/literal/", { value: LITERAL });
  const secret = (...args: string[]) => command(service, "project", "secret", ...args);
  const cases: [args: string[], code: number, says: string][] = [
    [
      ["set", "files", "token", "--from", "{env:TOKEN}", "--branch", "main", "--branch", "v*"],
      0,
      "Secret token of project files is set",
    ],
    [
      ["set", "files", "token", "--from", "{env:NOT_SET}"],
      0,
      'Warning: The secret "token" is not there',
    ],
    [["set", "files", "token", "--from", LITERAL], 1, "found another text"],
    [["set", "files", "token"], 1, "Expected it on standard input, or --from with its place"],
    [["set", "none", "token", "--from", "{env:TOKEN}"], 1, "There is no project"],
    [["set", "..", "token", "--from", "{env:TOKEN}"], 1, 'There is no project ".."'],
    [["set", "files", "..", "--from", "{env:TOKEN}"], 1, 'There is no secret ".."'],
    [["set", "files", "a b", "--from", "{env:TOKEN}"], 1, "Expected 1 to 64 letters"],
    [["list", "files", "-q"], 0, "literal\ntoken\n"],
    [["remove", "files", "none"], 1, 'There is no secret "none" in project "files"'],
  ];
  for (const [args, code, says] of cases) {
    const answer = await secret(...args);
    assertEquals(answer.code, code, answer.printed);
    assertStringIncludes(answer.printed, says, args.join(" "));
    if (args[3] !== "--from" || args[4] !== LITERAL) assert(!answer.printed.includes(LITERAL));
  }
  const listed = JSON.parse((await secret("list", "files", "--json")).printed);
  // What replaces a secret keeps its branches.
  assertEquals(listed[1], { name: "token", value: "{env:NOT_SET}", branches: ["main", "v*"] });
  const removed = await secret("remove", "files", "token");
  const [, lines = ""] = /at the project:\n(secrets:\n[^]*)/.exec(removed.printed) ?? [];
  assertEquals(parse(lines), { secrets: [{ name: "literal", value: "********" }] });
  const check = async (fields: Record<string, unknown>) =>
    (await command(service, "apply", await fileOf(service, fields), "--check")).code;
  assertEquals(await check(Object(parse(lines))), 0);
  assertEquals(await check({}), 0, "a file without a list leaves them");
  assertEquals(await check({ secrets: [] }), 2);
  const shown = await command(service, "project", "show", "files");
  assertStringIncludes(shown.printed, "literal");
  assert(!shown.printed.includes(LITERAL) && !shown.printed.includes("aes-256"));
  const exported = await command(service, "export");
  assertStringIncludes(exported.printed, "# Literal secrets are masked");
  const path = join(service.folder, "exported.yaml");
  await Deno.writeTextFile(path, exported.printed);
  const again = await command(service, "apply", path, "--check");
  assertEquals(again.code, 0, again.printed);
});

Deno.test("apply sets the secrets that a file lists, keeps what is the same, and tells no value", async () => {
  await using service = await startService({ env: { TOKEN: OTHER } });
  const literal = { name: "literal", value: LITERAL };
  const steps: [fields: Record<string, unknown>, plan: string, applied: string][] = [
    [
      { secrets: [literal, { name: "token", value: "{env:TOKEN}" }] },
      "secret token {env:TOKEN} is added",
      "updated",
    ],
    [{ secrets: [{ name: "token", value: "{env:TOKEN}" }, literal] }, "", "unchanged"],
    [{}, "", "unchanged"],
    [
      { secrets: [{ ...literal, value: "********" }, { name: "token", value: "{env:NOT_SET}" }] },
      "    secrets: ",
      "{env:NOT_SET} cannot be read",
    ],
    [{ secrets: [{ ...literal, value: OTHER }] }, "    secrets: ", "updated"],
    [{ secrets: [] }, "    secrets: ", "updated"],
  ];
  for (const [fields, plan, applied] of steps) {
    const path = await fileOf(service, fields);
    const planned = await command(service, "apply", path, "--check");
    assertStringIncludes(planned.printed, plan);
    assertEquals(planned.code, plan === "" ? 0 : 2, planned.printed);
    const done = await command(service, "apply", path);
    assertStringIncludes(done.printed, applied);
    assertEquals(done.code, 0, done.printed);
    for (const value of [LITERAL, OTHER, "aes-256"]) {
      assert(!`${planned.printed}${done.printed}`.includes(value), planned.printed);
    }
  }
  const refused = await command(
    service,
    "apply",
    await fileOf(service, { secrets: [{ name: "x", value: "********" }] }),
  );
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.printed, 'none is named "x"');
});
