/**
 * `deno task faults report`: repeats the runs of the page about proof, with their seeds.
 *
 * @module
 */

/** Tasks with their arguments, in the order of the page. */
const RUNS: readonly (readonly string[])[] = [
  ["simulate", "--seed", "2", "--seconds", "240"],
  ["simulate", "--pace", "--seed", "2", "--seconds", "240"],
  ["faults", "--seed", "1", "instances"],
  ["faults", "--seed", "1", "several"],
  ["faults", "--seed", "31", "--faults", "110", "network"],
  ["faults", "--seed", "81", "paces"],
  ["faults", "--seed", "12", "--faults", "14", "steps"],
  ["faults", "--seed", "1", "sigkill"],
  ["faults", "--seed", "1", "power"],
  ["faults", "--seed", "1", "writes"],
  ["faults", "--seed", "1", "disk"],
  ["faults", "--seed", "1", "clock"],
  ["planted", "--seed", "1"],
];
/** denokv does not tell its version; cargo has noted it. */
const VERSIONS = `uname -sr; deno --version | head -1; git rev-parse HEAD
grep -o 'denokv [0-9.]*' "\${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/denokv/.crates.toml"`;
const ROOT = new URL("../../", import.meta.url).pathname;

/** Runs all of it, prints what each says, and returns how many have found something. */
export async function report(): Promise<number> {
  const shared = { cwd: ROOT, stdout: "inherit", stderr: "inherit" } as const;
  await new Deno.Command("sh", { args: ["-c", VERSIONS], ...shared }).output();
  const results: { task: string; took_s: number; success: boolean }[] = [];
  for (const args of RUNS) {
    const task = `deno task ${args.join(" ")}`;
    console.log(`\n${new Date().toISOString()} ${task}`);
    const began_ms = performance.now();
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["task", ...args],
      ...shared,
    }).output();
    const took_s = Math.round((performance.now() - began_ms) / 1_000);
    results.push({ task, took_s, success });
  }
  console.log("");
  for (const { task, took_s, success } of results) {
    console.log(`${success ? "held  " : "FAILED"} ${String(took_s).padStart(5)} s  ${task}`);
  }
  return results.filter(({ success }) => !success).length;
}
