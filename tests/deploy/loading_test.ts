/** The hosted entry loads nothing that starts a process, locks or writes a file. */
import { assert, assertEquals } from "@std/assert";
import { temporaryFolder } from "../surroundings.ts";

const ROOT = new URL("../../", import.meta.url);
/** The entry, what it loads at its start, and the doors of the rooms that it loads when it needs them. */
const ENTRIES = [
  "src/deploy.ts",
  "src/hosted/service.ts",
  "src/actions/mod.ts",
  "src/artifacts/s3/open.ts",
  "src/config/apply_text.ts",
  "src/engines/kubernetes/mod.ts",
  "src/engines/remote/remote_work.ts",
  "src/engines/remote/stored_stages.ts",
  "src/engines/slurm/mod.ts",
  "src/engines/slurm/settings.ts",
  "src/engines/kubernetes/settings.ts",
  "src/http/api/mod.ts",
  "src/http/callbacks/routes.ts",
  "src/http/console/mod.ts",
  "src/http/docs/routes.ts",
  "src/http/jobs/routes.ts",
  "src/http_requests/runner.ts",
  "src/runs/cleanup.ts",
  "src/service/job_kinds.ts",
  "src/store/shared_store.ts",
];
/** The modules that it listens with before anything else is loaded. */
const FIRST = [
  "src/deploy.ts",
  "src/hosted/crons.ts",
  "src/hosted/entry.ts",
  "src/hosted/missing.ts",
];
const FORBIDDEN =
  /\bDeno\.(?:Command|openKv\(\w|mkdir|mkdirSync|makeTemp\w*|write\w*File|rename|renameSync|remove|removeSync|chmod|chmodSync|symlink|link|truncate|flock|dlopen|open\((?!path, \{ read: true \}\)))|node:child_process|\.tryLock\(/;

/** A part of what `deno info --json` tells. */
interface Info {
  modules: {
    specifier: string;
    dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[];
  }[];
}

/** The files that some entries load, each with the one that imports it. */
async function loadedBy(entries: readonly string[]): Promise<Map<string, string>> {
  const urls = entries.map((entry) => new URL(entry, ROOT).href);
  const imports = urls.map((url) => `import ${JSON.stringify(url)};`).join("\n");
  await using folder = await temporaryFolder();
  const all = `${folder.path}/all.ts`;
  await Deno.writeTextFile(all, imports);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", `--config=${new URL("deno.json", ROOT).pathname}`, all],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  assertEquals(code, 0);
  const { modules }: Info = JSON.parse(new TextDecoder().decode(stdout));
  const dependencies = new Map(
    modules.map(({ specifier, dependencies = [] }) => [specifier, dependencies]),
  );
  const files = new Map(urls.map((url) => [url, "the test"]));
  for (const file of files.keys()) {
    for (const { isDynamic, code } of dependencies.get(file) ?? []) {
      if (isDynamic || code === undefined || !code.specifier.startsWith("file:")) continue;
      if (!files.has(code.specifier)) files.set(code.specifier, file);
    }
  }
  return files;
}

const short = (url: string) => url.replace(ROOT.href, "");

Deno.test("the hosted entry loads nothing that starts a process, or locks or writes a file", async () => {
  const files = await loadedBy(ENTRIES);
  assert(files.size > 200);
  const found: string[] = [];
  for (const [file, importer] of files) {
    const text = await Deno.readTextFile(new URL(file));
    const lines = text.split("\n").filter((line) => !/^\s*(?:\*|\/\/)/.test(line));
    const line = lines.find((each) => FORBIDDEN.test(each));
    if (line) found.push(`${short(file)} (imported by ${short(importer)}): ${line.trim()}`);
  }
  assertEquals(found, []);
});

Deno.test("the hosted entry registers its crons and listens before it loads the service", async () => {
  assertEquals([...(await loadedBy(["src/deploy.ts"])).keys()].map(short), FIRST);
});
