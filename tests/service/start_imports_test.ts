/**
 * What a start of the service loads: each package costs idle memory and time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";

/** Packages that only some requests, or only some settings, need. */
const LAZY = [
  "@bufbuild/cel",
  "@panva/jose",
  "aws4fetch",
  "jose",
  "marked",
  "node:http",
  "re2js",
  "yaml",
  "zod",
];
/** Folders of `src` that only some requests need. */
const LAZY_FOLDERS = [
  "/src/http/console/",
  "/src/artifacts/s3/",
  "/src/engines/kubernetes/",
  "/src/engines/slurm/",
];
const ENTRIES = ["commands/serve.ts", "service/service.ts"];

interface Module {
  specifier: string;
  dependencies?: { specifier: string; isDynamic?: boolean; code?: { specifier: string } }[];
}

Deno.test("a start loads nothing that only some requests need", async () => {
  const found = new Set<string>();
  for (const entry of ENTRIES) {
    for (const specifier of await loadedBy(new URL(`../../src/${entry}`, import.meta.url).href)) {
      const name = LAZY.find((name) =>
        `${specifier.replace(/^npm:\/?/, "")}@`.startsWith(`${name}@`)
      ) ??
        LAZY_FOLDERS.find((folder) => specifier.includes(folder));
      if (name !== undefined) found.add(name);
    }
  }
  assertEquals([...found], []);
});

/** Returns a module and all that it imports, but not what it imports later. */
async function loadedBy(entry: string): Promise<Set<string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-lock", entry],
    stderr: "null",
  }).output();
  const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set([entry]);
  for (const specifier of loaded) {
    for (const { code, isDynamic } of bySpecifier.get(specifier)?.dependencies ?? []) {
      if (code && !isDynamic) loaded.add(code.specifier);
    }
  }
  return loaded;
}
