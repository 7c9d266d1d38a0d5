import { assert, assertEquals } from "@std/assert";
import { basename, dirname, join } from "node:path";
import { startService } from "./data.ts";
import { has } from "./needs.ts";
import { TemporaryFolder } from "./projects/code/git_fixture.ts";
import config from "../deno.json" with { type: "json" };

/** The command of the image's health check, as a shell is given it. */
async function healthCheck(): Promise<string> {
  const dockerfile = await Deno.readTextFile(new URL("../Dockerfile", import.meta.url));
  const [, command = ""] = /\nHEALTHCHECK .*?CMD ((?:.*\\\n)+.*)/.exec(dockerfile) ?? [];
  return command.replaceAll("\\\n", "");
}

async function isHealthy(port: number, env: Record<string, string> = {}): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", await healthCheck()],
    clearEnv: true,
    env: {
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH") ?? ""}`,
      HOME: Deno.env.get("HOME") ?? "/",
      HOOKLAUNCH_PORT: String(port),
      ...env,
    },
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

Deno.test("the image's health check asks the service itself, also where there is a proxy", async () => {
  await using service = await startService();
  const port = Number(new URL(service.url).port);
  // As docker gives each container the proxies of its client's configuration.
  const proxy = "http://127.0.0.1:9";
  const healthy = await Promise.all([
    isHealthy(port),
    isHealthy(port, { HTTP_PROXY: proxy, http_proxy: proxy, NO_PROXY: "example.com" }),
    isHealthy(9),
  ]);
  assertEquals(healthy, [true, true, false]);
});

/** Puts what the image gets from a checkout into a folder. */
async function copyAppFiles(folder: string): Promise<void> {
  const root = new URL("../", import.meta.url).pathname;
  const dockerfile = await Deno.readTextFile(join(root, "Dockerfile"));
  const ignored = (await Deno.readTextFile(join(root, ".dockerignore"))).split("\n");
  for (const [, names = "", to = ""] of dockerfile.matchAll(/^COPY (.+) (\S+)$/gm)) {
    for (const name of names.split(" ")) {
      assert(ignored.includes(`!${name}`), `.dockerignore leaves out ${name}`);
      const target = join(folder, to.endsWith("/") ? join(to, basename(name)) : to);
      await Deno.mkdir(dirname(target), { recursive: true });
      const { success } = await new Deno.Command("sh", {
        args: ["-c", `cp -r "$1" "$2"`, "sh", join(root, name), target],
      })
        .output();
      assert(success, name);
    }
  }
}

Deno.test({
  name: "the image's entry starts without a network, as its user, with the image's files alone",
  ignore: !has("unshare"),
  fn: async () => {
    await using folder = new TemporaryFolder();
    await copyAppFiles(folder.path);
    const dockerfile = await Deno.readTextFile(new URL("../Dockerfile", import.meta.url));
    const [, entry = "[]"] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
    const [init, separator, ...command] = JSON.parse(entry);
    assertEquals([init, separator], ["tini", "--"]);
    await copyPackages(`${folder.path}/deno-dir`);
    // Deno is shown at a place that every user may read, as the image has it.
    const { stdout, stderr, code } = await new Deno.Command("sh", {
      args: [
        "-c",
        `chmod -R go=rX . && mkdir bin && : >bin/deno &&
        exec unshare --net --mount sh -c 'mount --bind "$1" bin/deno && shift &&
          exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' sh "$@"`,
        "sh",
        Deno.execPath(),
        ...command,
        "--version",
      ],
      cwd: folder.path,
      clearEnv: true,
      env: {
        PATH: `${folder.path}/bin:${Deno.env.get("PATH") ?? ""}`,
        DENO_DIR: `${folder.path}/deno-dir`,
      },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    assertEquals({ code, version: text(stdout), printed: text(stderr) }, {
      code: 0,
      version: config.version,
      printed: "",
    });
  },
});

/**
 * Puts the packages of `deno.lock`, and no others, into a cache of Deno's, as the image's build does: with what
 * the registry says of those that `deno.json` names, and of those alone.
 */
async function copyPackages(denoDir: string): Promise<void> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(info.stdout));
  const lock = JSON.parse(await Deno.readTextFile(new URL("../deno.lock", import.meta.url)));
  const names = Object.keys(lock.npm).map((id) => id.slice(0, id.indexOf("@", 1)));
  // The folders of src/std are links to parts of deno-std.
  const named = [...Object.values(config.imports), "npm:deno-std@"].join(" ");
  for (const name of new Set(names)) {
    const { success } = await new Deno.Command("sh", {
      args: [
        "-c",
        `cd "$1" && for each in */"$2"; do
          mkdir -p "$3/npm/$(dirname "$each")" && cp -r "$each" "$3/npm/$each" || exit 1
          ${named.includes(`:${name}@`) ? "" : `rm -f "$3/npm/$each/registry.json"`}
        done`,
        "sh",
        npmCache,
        name,
        denoDir,
      ],
    }).output();
    assert(success, name);
  }
}
