/**
 * `hooklaunch demo` on a cluster.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { run } from "../commands/process.ts";
import { freePort } from "../surroundings.ts";

/** Three jobs, one after the other, also on a busy machine. */
const WITHIN_MS = 180_000;

/**
 * Runs the demo on a cluster, to its end.
 *
 * @param host the address of this machine as the cluster's jobs see it
 */
export async function runDemo(
  { type, ...settings }: { type: string },
  host: string,
): Promise<void> {
  const port = String(freePort());
  const agent = ["--agent-url", `http://${host}:${port}`, "--agent-http"];
  const engine = ["--engine", type, "--engine-settings", JSON.stringify(settings)];
  const args = ["demo", "--once", "--port", port, ...engine, ...agent];
  const { code, printed } = await run(args, {}, WITHIN_MS);
  assertEquals(code, 0, printed);
  for (const node of ["ingest", "train", "test"]) {
    assertStringIncludes(printed, `node "${node}" is complete`);
  }
  assertMatch(printed, /Execution [0-9a-f-]{36}: complete on \S+, and its step "test" printed/);
  assertStringIncludes(printed, "10 of 10 flowers were classified correctly.");
}
