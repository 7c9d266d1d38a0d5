/** The alert rules, as Prometheus itself reads them. */
import { fileURLToPath } from "node:url";
import { assertEquals, assertMatch } from "@std/assert";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";

/** Keeps the programs that `.ci/run` has built in the path. */
const TOOLS = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"';
const RULES = fileURLToPath(new URL("../../src/telemetry/alerts.yaml", import.meta.url));

/** Checks a file of rules. */
async function check(file: string): Promise<{ code: number; errors: string }> {
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", `${TOOLS}; check-prometheus-rules "$1"`, "sh", file],
  }).output();
  return { code, errors: new TextDecoder().decode(stderr) };
}

Deno.test({
  name: "Prometheus takes the alert rules",
  ignore: !has("check-prometheus-rules"),
  async fn() {
    assertEquals(await check(RULES), { code: 0, errors: "" });
    const text = await Deno.readTextFile(RULES);
    await using folder = await temporaryFolder();
    const file = `${folder.path}/rules.yaml`;
    await Deno.writeTextFile(file, text.replace("absent(up", "absent((up"));
    const { code, errors } = await check(file);
    assertEquals(code, 1);
    assertMatch(errors, /HooklaunchMissing.*could not parse expression/);
  },
});
