/**
 * The service as JavaScript: what the npm package and the archives hold. They need no package and no
 * configuration file at run time.
 *
 * @module
 */
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { ReleaseError, run } from "./run.ts";

/** The modules that are started by their names: the command line, and those of Workers. */
const ENTRIES = [
  "src/main.ts",
  "src/service/heavy_jobs.ts",
  "src/store/file/integrity_worker.ts",
  "src/backup/scheduled/backup_worker.ts",
];
/** Texts that have another meaning beside the bundle; each stands there once. */
const REPLACED: readonly [text: string, by: string][] = [
  ['"./heavy_jobs.ts"', '"./service/heavy_jobs.js"'],
  ['"./integrity_worker.ts"', '"./store/file/integrity_worker.js"'],
  ['"./backup_worker.ts"', '"./backup/scheduled/backup_worker.js"'],
  ['"brotli-dec-wasm/web/bg.wasm"', '"./bg.wasm"'],
];
/** Packages of the older kind ask for Node.js' own modules by `require`, which a bundle has not. */
const REQUIRE =
  'import{createRequire as ofNode}from"node:module";const require=ofNode(import.meta.url);';

/** A file for an `import()` of a CommonJS package: none of the names that it exports is there. */
const DEFAULT_ALONE = /^(import[^;]*;)*export default \w+\(\);\s*$/;

/** Flags of `deno run` that name files of the checkout. */
const OF_CHECKOUT = /^--(lock=.*|frozen)$/;

/** Returns the flags with which Deno runs the bundle: those of `deno task hooklaunch`, without its files. */
export function runFlags(): string[] {
  const [, flags = ""] =
    / deno run (--lock.*) src\/main\.ts/.exec(config.tasks.hooklaunch.command) ?? [];
  return [
    "--quiet",
    "--no-config",
    "--no-lock",
    ...config.unstable.map((feature) => `--unstable-${feature}`),
    ...flags.split(" ").filter((flag) => !OF_CHECKOUT.test(flag)),
  ];
}

/**
 * Bundles the service into a folder.
 *
 * @param commit the commit that `hooklaunch version` tells
 */
export async function makeBundle(folder: string, commit: string): Promise<void> {
  await run("deno", [
    "bundle",
    "--quiet",
    "--platform=deno",
    "--code-splitting",
    "--minify",
    "--keep-names", // errors are told apart by the names of their classes
    "--lock=deno.lock",
    "--frozen",
    `--outdir=${folder}`,
    ...ENTRIES,
  ]);
  const replaced = new Map([...REPLACED, ['"a checkout"', JSON.stringify(commit)]]);
  const found = new Map<string, number>();
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile) continue;
    const path = join(folder, name);
    const text = await Deno.readTextFile(path);
    if (DEFAULT_ALONE.test(text)) {
      throw new ReleaseError(
        `${name} has none of its package's names: import the package in a file of ours, and that file by import()`,
      );
    }
    let changed = text.includes("Dynamic require of") ? REQUIRE + text : text;
    for (const [each, by] of replaced) {
      const parts = changed.split(each);
      found.set(each, (found.get(each) ?? 0) + parts.length - 1);
      changed = parts.join(by);
    }
    if (changed !== text) await Deno.writeTextFile(path, changed);
  }
  for (const [text, times] of found) {
    if (times !== 1) {
      throw new ReleaseError(`Expected ${text} once in the bundle, found it ${times} times`);
    }
  }
  const decoder = new URL(import.meta.resolve("brotli-dec-wasm/web/bg.wasm"));
  await Deno.writeFile(join(folder, "bg.wasm"), await Deno.readFile(decoder));
}
