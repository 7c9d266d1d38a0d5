/**
 * A docker that cannot be asked for a while: its executions wait and show so, and hold up no others.
 *
 * @module
 */
import { assert } from "@std/assert";
import { join } from "node:path";
import { CONFIG_FLAGS, temporaryFolder } from "../../surroundings.ts";
import { hasContainers, makeImage } from "./containers.ts";

Deno.test({
  name: "containers: executions of a docker that goes and comes back wait for it, and no others do",
  ignore: !hasContainers("docker"),
  async fn() {
    await using folder = await temporaryFolder();
    const host = Deno.env.get("DOCKER_HOST") ?? "unix:///var/run/docker.sock";
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        ...CONFIG_FLAGS,
        "--allow-run",
        "--allow-read",
        "--allow-write",
        "--allow-env",
        "--allow-net",
        join(import.meta.dirname ?? "", "outage_host.ts"),
        folder.path,
        host.replace(/^unix:\/\//, ""),
        await makeImage("docker"),
      ],
      env: { DOCKER_HOST: `unix://${join(folder.path, "docker.sock")}` },
    }).output();
    const decoder = new TextDecoder();
    assert(success, `${decoder.decode(stdout)}\n${decoder.decode(stderr)}`);
  },
});
