import { assertEquals, assertMatch } from "@std/assert";
import { makePrivate } from "../../../src/store/file/private_files.ts";
import { collectLog } from "../../log_records.ts";
import { temporaryFolder } from "../../surroundings.ts";

const modes: [before: number, after: number][] = [
  [0o755, 0o700],
  [0o640, 0o600],
  [0o444, 0o400],
  [0o1777, 0o1700],
  [0o600, 0o600],
];

for (const [before, after] of modes) {
  Deno.test(`of a file of mode ${before.toString(8)} only its owner keeps what it may`, async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/file`;
    await Deno.writeTextFile(path, "");
    await Deno.chmod(path, before);
    await makePrivate(path);
    assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o7777, after);
  });
}

Deno.test({
  name: "what cannot be made private is warned about, and what is not there is not",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folder = await temporaryFolder();
    await using log = await collectLog("trace");
    await makePrivate(`${folder.path}/nowhere`);
    // Nobody may change its mode, not even root, so it stands for what belongs to another user.
    await makePrivate("/proc/self/status");
    const said = log.lines();
    assertEquals(said.length, 1);
    assertMatch(said[0] ?? "", /^warning: Others may read \/proc\/self\/status, and this cannot/);
  },
});
