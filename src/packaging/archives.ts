/**
 * Archives for systems: one binary by `deno compile`. Where its runtime part cannot be downloaded, the archive has
 * the Deno that makes it, and the bundle.
 *
 * @module
 */
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { writeArchive } from "./archive.ts";
import { runFlags } from "./bundle.ts";
import type { Release } from "./release.ts";
import { ReleaseError, run } from "./run.ts";

/** The systems that Deno compiles for (https://docs.deno.com/runtime/reference/cli/compile/). */
export const TARGETS: readonly string[] = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
];

/** The command of an archive without a binary: it runs the bundle by the Deno beside it. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
OTEL_DENO_TRACING=false exec "$here/lib/deno" run FLAGS "$here/lib/main.js" "$@"
`;

/** Makes the archive of a system, and returns the folder with its content; undefined if it cannot be made here. */
export async function makeArchive(release: Release, target: string): Promise<string | undefined> {
  const folder = await release.stage(target);
  const isWindows = target.includes("windows");
  const binary = join(folder, isWindows ? "hooklaunch.exe" : "hooklaunch");
  const whole = await compile(target, binary);
  if (whole !== undefined) {
    if (target !== Deno.build.target) {
      release.say(`${target}: left out, since ${whole}`);
      return undefined;
    }
    release.say(`${target}: with the Deno that runs this in place of one binary, since ${whole}`);
    await release.stage(target, "lib");
    await addDeno(folder, Deno.execPath());
  } else release.say(target);
  const root = `hooklaunch-${release.version}`;
  await writeArchive(release, `${root}-${target}.tar.gz`, { folder, root });
  return folder;
}

/** Puts a Deno beside a bundle in "lib", and the command that runs it. */
export async function addDeno(folder: string, deno: string): Promise<void> {
  await Deno.copyFile(deno, join(folder, "lib", "deno"));
  await Deno.chmod(join(folder, "lib", "deno"), 0o755);
  const launcher = LAUNCHER.replace("FLAGS", runFlags().join(" "));
  await Deno.writeTextFile(join(folder, "hooklaunch"), launcher, { mode: 0o755 });
}

/** Compiles the binary. Returns why it cannot be had here; undefined when it is there. */
async function compile(target: string, output: string): Promise<string | undefined> {
  const command = config.tasks.compile.command
    .replace("deno compile", `"$DENO" compile --quiet --no-check --target ${target}`)
    .replace("dist/hooklaunch", '"$OUTPUT"');
  try {
    await run("sh", ["-c", command], { DENO: Deno.execPath(), OUTPUT: output });
  } catch (error) {
    if (!(error instanceof ReleaseError) || !/denort|dl\.deno\.land/.test(error.message)) {
      throw error;
    }
    return "its runtime part cannot be downloaded from dl.deno.land";
  }
}
