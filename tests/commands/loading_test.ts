/** What is not needed is not loaded: each library costs memory as long as the service runs, and time at each start. */
import { assert, assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);

/** A part of what `deno info --json` tells. */
interface Info {
  modules: {
    specifier: string;
    dependencies?: { specifier: string; isDynamic?: boolean; code?: { specifier: string } }[];
  }[];
}

/** The arguments of Deno in the task that runs the command line. */
function startArguments(): string[] {
  const [, , ...args] = config.tasks.hooklaunch.command.split(" && ").at(-1)?.split(" ") ?? [];
  return args;
}

/** What some files import of libraries, they themselves or what they import; not what they may load later. */
async function librariesOf(...paths: string[]): Promise<Set<string>> {
  const libraries = new Set<string>();
  const [entry = "", ...others] = paths.map((path) => new URL(path, ROOT).href);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  assertEquals(code, 0);
  const { modules }: Info = JSON.parse(new TextDecoder().decode(stdout));
  const dependencies = new Map(modules.map((each) => [each.specifier, each.dependencies ?? []]));
  const files = new Set([entry, ...others]);
  for (const file of files) {
    for (const { specifier, isDynamic, code } of dependencies.get(file) ?? []) {
      if (isDynamic || code === undefined) continue;
      if (code.specifier.startsWith("file:")) files.add(code.specifier);
      else libraries.add(specifier);
    }
  }
  assert([...files].every((file) => dependencies.has(file)));
  return libraries;
}

Deno.test("a service that has nothing to do has loaded no library to read settings with", async () => {
  const libraries = await librariesOf("src/commands/program.ts", "src/commands/serve.ts");
  assert(libraries.has("@hono/hono"));
  const later = [
    "zod",
    "yaml",
    "@bufbuild/cel",
    "@panva/jose",
    "modern-tar",
    "marked",
    "oauth4webapi",
    "@simplewebauthn/server",
  ];
  for (const name of later) {
    assert(!libraries.has(name), name);
  }
});

Deno.test("what checks a configuration file, and what runs work, loads no library of what it does not name", async () => {
  const checked = ["src/config/apply_text.ts", "src/conditions/jwt.ts", "src/actions/mod.ts"];
  const libraries = await librariesOf("src/commands/program.ts", ...checked);
  assert(libraries.has("zod"));
  for (const name of ["@panva/jose", "@std/media-types"]) assert(!libraries.has(name), name);
});

Deno.test("a command that asks a service about projects loads no library to read files with", async () => {
  const libraries = await librariesOf("src/commands/program.ts", "src/commands/project.ts");
  assert(libraries.has("commander"));
  for (const name of ["zod", "yaml"]) assert(!libraries.has(name), name);
});

Deno.test("a trigger without filters and JWTs loads no library for them", async () => {
  const signed = await librariesOf("src/triggers/prepare.ts", "src/conditions/hmac.ts");
  assert(signed.has("node:crypto"));
  for (const name of ["yaml", "@bufbuild/cel", "@panva/jose"]) assert(!signed.has(name), name);
});

Deno.test("a start reads no file that is loaded later, or never", async () => {
  const folder = await Deno.makeTempDir({ prefix: "hooklaunch-test-" });
  try {
    // Whoever reads from a pipe into which nobody writes waits for ever.
    const script = 'cp -r src deno.json deno.lock "$1" && cd "$1" && rm "$2" && mkfifo "$2"';
    const copied = await new Deno.Command("sh", {
      args: ["-ec", script, "sh", folder, "src/commands/demo.ts"],
      cwd: ROOT,
    }).output();
    assert(copied.success, new TextDecoder().decode(copied.stderr));
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...startArguments(), "--version"],
      cwd: folder,
      signal: AbortSignal.timeout(60_000),
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
