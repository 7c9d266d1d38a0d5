/**
 * `deno task compile`: the one binary holds all that the service reads at run time.
 *
 * The runtime part of a binary (`denort`) has to be downloaded, so `deno` itself stands in for it: all that
 * comes before, the embedded files among it, is as in a release.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import config from "../deno.json" with { type: "json" };
import { sourceFiles } from "./lint/imports.ts";
import { TemporaryFolder } from "./projects/code/git_fixture.ts";

const ROOT = new URL("../", import.meta.url);

/** Runs a command in the checkout; returns what it prints. */
async function run(command: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 0, printed);
  return printed;
}

/** Reads the tree of embedded files that `deno compile` prints. A folder that is embedded whole ends in `/*`. */
function embeddedPaths(printed: string): string[] {
  const folders: string[] = [];
  return [...printed.matchAll(/^((?:[│ ] )*)[├└]─[┬─] (.+?) \(\S+?B\b.*\)$/gm)]
    .map(([, indent = "", name = ""]) => {
      folders.length = indent.length / 2;
      folders.push(name);
      return folders.join("/");
    });
}

function isEmbedded(path: string, embedded: readonly string[]): boolean {
  return embedded.some((each) =>
    each === path || (each.endsWith("/*") && path.startsWith(each.slice(0, -1)))
  );
}

/** A part of what `deno info --json` prints. */
interface Info {
  modules: { specifier: string; dependencies?: { code?: { specifier: string } }[] }[];
}

/** Returns every file of the checkout that the service may load, at its start or later. */
async function loadedFiles(): Promise<string[]> {
  const { modules }: Info = JSON.parse(
    await run("deno info --json --lock=deno.lock src/main.ts 2>/dev/null"),
  );
  const dependencies = new Map(modules.map((each) => [each.specifier, each.dependencies ?? []]));
  const loaded = new Set([new URL("src/main.ts", ROOT).href]);
  for (const specifier of loaded) {
    for (const { code } of dependencies.get(specifier) ?? []) {
      if (code?.specifier.startsWith(ROOT.href)) loaded.add(code.specifier);
    }
  }
  return [...loaded].map((specifier) => specifier.slice(ROOT.href.length));
}

Deno.test("the binary compiles, and holds every module and file that the service loads", async () => {
  await using folder = new TemporaryFolder();
  const output = join(folder.path, "hooklaunch");
  // `deno task check` checks the types, which takes ten times as long as all else here.
  const command = config.tasks.compile.command.replace("dist/hooklaunch", output)
    .replace("deno compile", "deno compile --no-check");
  const printed = await run(command, { DENORT_BIN: Deno.execPath() });
  assert((await Deno.stat(output)).size > 10_000_000);
  const embedded = embeddedPaths(printed);
  const files = await loadedFiles();
  for (const file of ["src/main.ts", "src/http/api/mod.ts", "src/demo/webhook/valohai.yaml"]) {
    assert(files.includes(file), file);
  }
  assertEquals(files.filter((path) => !isEmbedded(path, embedded)), []);
  // So a plain `deno compile -A src/main.ts` holds them, too.
  assert(!command.includes("--include"));
  for (
    const worker of [
      "src/service/heavy_jobs.ts",
      "src/store/file/integrity_worker.ts",
      "src/backup/scheduled/backup_worker.ts",
    ]
  ) {
    assert(isEmbedded(worker, embedded), "a Worker's module");
  }
  assert(printed.includes("brotli-dec-wasm/2.3.2/*"), "the decoder of brotli");
  assert(!isEmbedded("tests/run.ts", embedded));
  for (const name of ["stripe", "fast-check", "twilio"]) assert(!printed.includes(name), name);
});

Deno.test("nothing is read from the checkout at run time but modules", () => {
  // A file of a package is embedded with the package.
  const ofPackage = /import\.meta\.resolve\("[^./][^"]*"\)/g;
  const readers = sourceFiles(new URL("src", ROOT).pathname)
    // A release is made in a checkout.
    .filter((path) => !path.includes("/src/packaging/"))
    .filter((path) =>
      /import\.meta\.(url|dirname|filename|resolve)/.test(
        Deno.readTextFileSync(path).replaceAll(ofPackage, ""),
      )
    )
    // A Worker's module is embedded as one that may be imported.
    .filter((path) => !/new Worker\(\s*new URL\(/.test(Deno.readTextFileSync(path)));
  assertEquals(readers, []);
});
