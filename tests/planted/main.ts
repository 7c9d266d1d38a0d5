/**
 * `deno task planted [--list] [--seed N] [name …]`: plants mistakes in a copy of the checkout, one at a time, and says what
 * finds each, and how long that took. Ends with code 1 when one is not found.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { type Finder, type Mistake, MISTAKES } from "./mistakes.ts";

/** Time in which a mistake has to be found. */
const WITHIN_S = 600;
/** What tests and faults print of a finding. A pause without an accepted launch may be that of a busy machine. */
const FOUND = / \.\.\. FAILED|^porcupine: illegal |^VIOLATION: (?!\w+: [\d.]+ ms|Something )/;
const ROOT = new URL("../../", import.meta.url).pathname;
const COPIED = ["src", "tests", "deno.json", "deno.lock", "README.md", "CHANGELOG.md", "LICENSE"];

const { values, positionals } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
  },
  allowPositionals: true,
});
const seed = Number(values.seed);
const unknown = positionals.filter((name) => !(name in MISTAKES));
if (unknown.length > 0) {
  console.error(`There is no mistake ${unknown.join(", ")}; --list names them`);
  Deno.exit(2);
}
const chosen = Object.entries(MISTAKES)
  .filter(([name]) => positionals.length === 0 || positionals.includes(name));
if (values.list) {
  for (const [name, { breaks }] of chosen) console.log(`${name}: ${breaks}`);
  Deno.exit(0);
}
const folder = await Deno.makeTempDir({ prefix: "hooklaunch-planted-" });
let missed = 0;
try {
  await run("cp", ["-a", ...COPIED.map((name) => ROOT + name), folder]);
  for (const [name, mistake] of chosen) {
    const { isFound, text } = await plant(mistake);
    if (!isFound) missed++;
    console.log(`${name}: ${text}`);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
console.log(`${chosen.length - missed} of ${chosen.length} mistakes found`);
Deno.exit(missed === 0 ? 0 : 1);

/** Plants a mistake, and returns what has found it. */
async function plant(
  { file, from, to, finder }: Mistake,
): Promise<{ isFound: boolean; text: string }> {
  const path = `${folder}/src/${file}`;
  const right = await Deno.readTextFile(path);
  const count = right.split(from).length - 1;
  if (count !== 1) {
    return { isFound: false, text: `NOT PLANTED: src/${file} has its text ${count} times` };
  }
  // A function, since a text may hold `$`.
  await Deno.writeTextFile(path, right.replace(from, () => to));
  const began_ms = performance.now();
  try {
    const printed = await find(finder);
    const took_s = Math.ceil((performance.now() - began_ms) / 1_000);
    return printed === undefined
      ? { isFound: false, text: `NOT FOUND in ${took_s} s` }
      : { isFound: true, text: `${took_s} s: ${printed}` };
  } finally {
    await Deno.writeTextFile(path, right);
  }
}

/** Runs a finder, and returns what it says of what it has found; undefined when it found nothing in time. */
async function find(finder: Finder): Promise<string | undefined> {
  const isSimulated = "simulate" in finder;
  const drawn = ["--seed", String(seed)];
  const task = isSimulated
    ? ["simulate", "--seconds", String(WITHIN_S), ...drawn, ...finder.simulate]
    : "faults" in finder
    ? ["faults", ...drawn, ...finder.faults]
    : ["test", ...finder.test];
  const signal = AbortSignal.timeout(WITHIN_S * 1_000);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", ...task],
    cwd: folder,
    env: { NO_COLOR: "1" },
    signal,
  }).output();
  if (success || signal.aborted) return undefined;
  const decoder = new TextDecoder();
  const printed = decoder.decode(isSimulated ? stderr : stdout);
  const lines = printed.split("\n").map((line) => line.trim());
  const found = isSimulated
    ? lines.find((line) => line !== "" && !/^(Task|Warning|Download)/.test(line))
    : lines.find((line) => FOUND.test(line));
  const isFinding = !isSimulated || printed.includes("Repeat it: ");
  if (found !== undefined && isFinding) return found;
  throw new Error(
    `It ended without a finding:\n${decoder.decode(stdout)}${decoder.decode(stderr)}`,
  );
}

async function run(command: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
