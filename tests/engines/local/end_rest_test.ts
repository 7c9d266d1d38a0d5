/**
 * Processes that a command has left running are killed. Captures of its output are not, as long as they have output
 * to read: on a busy machine they may start late.
 */
import { assertEquals } from "@std/assert";
import { endRest } from "../../../src/engines/local/processes.ts";
import { lives, textOf, until } from "../fixture.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { runHosted } from "./containers.ts";

/** A leader of a session with a capture, which is busy until a file is there, and what a command has left. */
const SESSION = `
sh -c 'while [ ! -e idle ]; do :; done; echo idle >told; exec sleep 100' & echo $! >capture
sh -c 'sleep 100 & echo $! >left'
wait
`;

/**
 * Is busy with something else than stdout for a second and a half: on most machines all else of the command was killed
 * before.
 */
const SLOW_TEE = `#!/bin/sh
# In hundredths of a second.
look() {
  read -r now rest </proc/uptime
  now=\${now%.*}\${now#*.}
}
look
until=$((now + 150))
case "$*" in *stdout) while [ "$now" -lt "$until" ]; do look; done ;; esac
exec /usr/bin/tee "$@"
`;

Deno.test("a capture that begins late takes in all that was printed", async () => {
  if (Deno.build.os !== "linux") return;
  await using folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/bin`);
  await Deno.writeTextFile(`${folder.path}/bin/tee`, SLOW_TEE, { mode: 0o755 });
  const env = { PATH: `${folder.path}/bin:${Deno.env.get("PATH")}` };
  const [ran] = await runHosted([{ fields: {}, settings: {} }], env);
  assertEquals([ran?.status, ran?.printed], ["complete", ["ran"]]);
});

Deno.test("what a command has left is killed, and its captures only when they have nothing to do", async () => {
  if (Deno.build.os !== "linux") return;
  await using folder = await temporaryFolder();
  const child = new Deno.Command("setsid", {
    args: ["--wait", "sh", "-c", `echo $$ >leader; ${SESSION}`],
    cwd: folder.path,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const idOf = async (name: string) => {
    const path = `${folder.path}/${name}`;
    await until(() => textOf(path).endsWith("\n"));
    return Number(textOf(path));
  };
  const [leader, capture, left] = await Promise.all(["leader", "capture", "left"].map(idOf));
  if (leader === undefined || capture === undefined || left === undefined) throw new Error();
  await endRest(leader);
  await until(async () => !await lives(left));
  assertEquals([await lives(leader), await lives(capture)], [true, true], "it has something to do");
  await Deno.writeTextFile(`${folder.path}/idle`, "");
  await until(async () => {
    await endRest(leader);
    return !await lives(capture);
  });
  assertEquals(textOf(`${folder.path}/told`), "idle\n", "it came to the end of its work");
  await child.status;
  assertEquals(await lives(leader), false);
});
