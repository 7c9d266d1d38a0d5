/**
 * Kills a process that hosts a remote engine, at many moments, and goes on with what it left: each command has run
 * exactly once, its exit code and its outputs are known, and its log has all lines.
 *
 * @module
 */
import { CONFIG_FLAGS, freePort, isLong } from "../../surroundings.ts";
import { assertEquals, assertExists } from "@std/assert";
import { join } from "node:path";
import { ConflictError } from "../../../src/platform/errors.ts";
import { textOf } from "../fixture.ts";
import { until } from "../service.ts";
import { RemoteService } from "./fixture.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("crashes of the remote engine");

const COUNT = 4;

/** Starts the host, and kills it some time after it has stored what is to be done. */
async function killHost(folder: string, port: number, after_ms: number): Promise<string[]> {
  const host = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      ...CONFIG_FLAGS,
      "--allow-all",
      join(import.meta.dirname ?? "", "crash_host.ts"),
      folder,
      String(port),
      String(COUNT),
    ],
    cwd: join(import.meta.dirname ?? "", "../../.."),
    stdout: "piped",
  }).spawn();
  const reader = host.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let told = "";
  while (!told.endsWith("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    told += value;
  }
  await new Promise((resolve) => setTimeout(resolve, after_ms));
  host.kill("SIGKILL");
  await host.status;
  await reader.cancel();
  return JSON.parse(told);
}

/**
 * Opens the data folder. A process that was just being started holds its lock a moment longer, and a connection of
 * another test may have taken the port.
 */
async function takeOver(folder: string, port: number): Promise<RemoteService> {
  let service: RemoteService | undefined;
  await until(async () => {
    try {
      service ??= new RemoteService(folder, {}, { port });
      await service.begin();
      return true;
    } catch (error) {
      if (error instanceof ConflictError || error instanceof Deno.errors.AddrInUse) return false;
      throw error;
    }
  });
  assertExists(service);
  return service;
}

for (const after_ms of isLong ? [0, 60, 150, 400, 900] : [60, 400]) {
  test(`remote: killed after ${after_ms} ms, each command runs once`, async () => {
    const folder = await Deno.makeTempDir();
    const port = freePort();
    const ids = await killHost(folder, port, after_ms);
    await using service = await takeOver(folder, port);
    for (const [index, id] of ids.entries()) {
      const { exit_code, status, reason, outputs } = await service.ended(id);
      assertEquals([exit_code, status], [index, index === 0 ? "complete" : "error"], reason);
      assertExists(outputs.find(({ path }) => path === "x"));
      const printed = await service.printed(id, "stdout");
      assertEquals(printed, ["begun", "line 1", "line 2", "line 3"]);
    }
    const ran = textOf(join(folder, "ran")).trim().split("\n").map(Number).sort();
    assertEquals(ran, Array.from({ length: COUNT }, (_, index) => index));
  });
}
