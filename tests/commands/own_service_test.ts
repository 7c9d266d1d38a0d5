/** The command line finds the service of this machine by its data folder, also where that requires HTTPS. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { temporaryFolder } from "../surroundings.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = "an-operators-token-for-tests";

Deno.test("commands reach the service of the data folder by its socket, and nobody else does", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  const socket = join(data, "hooklaunch.sock");
  const config = join(folder.path, "hooklaunch.yaml");
  await Deno.mkdir(join(folder.path, "p"));
  await Deno.writeTextFile(
    join(folder.path, "p", "valohai.yaml"),
    "- step: { name: s, image: i, command: 'true' }\n",
  );
  const triggers = [{ name: "t", project: "p", actions: [{ type: "run_execution", step: "s" }] }];
  const projects = [{ name: "p", directory: "./p" }];
  await Deno.writeTextFile(config, JSON.stringify({ projects, triggers }));
  const env = { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, HOOKLAUNCH_DATA: data };
  // As behind a tunnel: it refuses what comes over plain TCP, but from the proxy.
  const tunnel = ["--public-url", "https://hooks.example.com", "--trusted-proxy", "192.0.2.1"];
  const serve = ["serve", "--port", "0", "--config", config, ...tunnel];
  const command = (args: string[], more: Record<string, string> = {}) =>
    run(args, { ...env, ...more });
  const startAndKill = async (signal: Deno.Signal, during: (port: string) => Promise<void>) => {
    await using service = hooklaunch(serve, env);
    const [, port = ""] = await service.expect(/Listening on 127\.0\.0\.1 port (\d+)/);
    await during(port);
    service.child.kill(signal);
    await service.end();
  };

  await startAndKill("SIGKILL", async (port) => {
    assertEquals(((await Deno.lstat(socket)).mode ?? 0) & 0o777, 0o600);
    const listed = await command(["trigger", "list"]);
    assertEquals(listed.code, 0, listed.printed);
    const sent = await command(["send", "t"]);
    assertMatch(sent.printed, /200 \{"status":"accepted"\}/);
    assertMatch((await command(["deliveries"])).printed, /accepted/);
    // The token counts there, too, and an address that is given is the one that is used.
    const wrong = await command(["trigger", "list"], { HOOKLAUNCH_ADMIN_TOKEN: "x".repeat(20) });
    assertMatch(wrong.printed, /answered 401/);
    const byTcp = await command(["trigger", "list", "--url", `http://127.0.0.1:${port}`]);
    assertMatch(byTcp.printed, /HTTPS is required/);
    const byUrl = await command(["trigger", "list"], {
      HOOKLAUNCH_DATA: "/nowhere",
      HOOKLAUNCH_URL: `unix:${socket}`,
      NO_PROXY: "*",
    });
    assertEquals(byUrl.code, 0, byUrl.printed);
    // A socket that others may use is not the service's own.
    await Deno.chmod(socket, 0o666);
    assertMatch((await command(["trigger", "list"])).printed, /http:\/\/127\.0\.0\.1:8000/);
    await Deno.chmod(socket, 0o600);
  });
  assertStringIncludes(
    (await command(["trigger", "list"])).printed,
    `Cannot reach the service at ${socket}: Connection refused`,
  );
  // What a killed service has left is taken over, and what was stopped leaves nothing.
  await startAndKill("SIGTERM", async () => {
    assertEquals((await command(["trigger", "list"])).code, 0);
  });
  const left = Array.from(Deno.readDirSync(data), ({ name }) => name);
  assertEquals(left.filter((name) => name.includes(".sock")), []);
});
