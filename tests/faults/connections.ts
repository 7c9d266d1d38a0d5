/**
 * How many connections a process may have.
 *
 * @module
 */
import type { Findings } from "./findings.ts";
import { shell } from "./served.ts";

/** Left for everything that is no connection. */
const OTHER_FILES = 200;

/** As many connections as are wanted, or as a process may have; what is left out is told. */
export async function connectionsWithin(wanted: number, findings: Findings): Promise<number> {
  const limit = (await shell("ulimit -n")).trim();
  const most = limit === "unlimited" ? Infinity : Number(limit) - OTHER_FILES;
  if (most >= wanted) return wanted;
  findings.say(`a process may open ${limit} files here: ${most} connections, not ${wanted}`);
  return most;
}
