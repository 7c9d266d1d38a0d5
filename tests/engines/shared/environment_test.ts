/**
 * The variables of a step on a machine whose `sh` is bash, where it has one.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { shell } from "../../faults/served.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { runHosted } from "../local/containers.ts";

Deno.test("variables that bash keeps for itself keep no step from running", async () => {
  await using folder = await temporaryFolder();
  await shell(`ln -s "$(command -v bash || command -v sh)" '${folder.path}/sh'`);
  const fields = {
    command: `printf '{"name": "%s"}' "$NAME"`,
    environment_variables: { UID: "1000", EUID: "1000", PPID: "1", NAME: "it's $1" },
  };
  const [ran] = await runHosted([{ fields }], { PATH: `${folder.path}:${Deno.env.get("PATH")}` });
  assertEquals(ran?.status, "complete");
  assertEquals(ran?.metadata, { name: "it's $1" });
});
