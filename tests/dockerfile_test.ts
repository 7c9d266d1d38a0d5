import { assert, assertEquals } from "@std/assert";
import { basename, dirname, join } from "node:path";
import { startService } from "./data.ts";
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

Deno.test("the image holds every file that the service needs to run", async () => {
  await using folder = new TemporaryFolder();
  const root = new URL("../", import.meta.url).pathname;
  const dockerfile = await Deno.readTextFile(join(root, "Dockerfile"));
  const ignored = (await Deno.readTextFile(join(root, ".dockerignore"))).split("\n");
  for (const [, names = "", to = ""] of dockerfile.matchAll(/^COPY (.+) (\S+)$/gm)) {
    for (const name of names.split(" ")) {
      assert(ignored.includes(`!${name}`), `.dockerignore leaves out ${name}`);
      const target = join(folder.path, to.endsWith("/") ? join(to, basename(name)) : to);
      await Deno.mkdir(dirname(target), { recursive: true });
      const { success } = await new Deno.Command("sh", {
        args: ["-c", `cp -r "$1" "$2"`, "sh", join(root, name), target],
      })
        .output();
      assert(success, name);
    }
  }
  const { stdout, code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--lock=deno.lock", "--frozen", "src/main.ts", "--version"],
    cwd: folder.path,
    stderr: "inherit",
  }).output();
  assertEquals({ code, version: new TextDecoder().decode(stdout).trim() }, {
    code: 0,
    version: config.version,
  });
});
