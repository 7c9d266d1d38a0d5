import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { startService } from "./data.ts";

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
