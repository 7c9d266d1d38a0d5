/**
 * The faults of instances and of their database in the fault tests.
 *
 * @module
 */
import type { DenoKvServer, FaultyWay } from "../store/denokv.ts";
import { eventually } from "../surroundings.ts";
import { pause } from "./findings.ts";
import { untilGone } from "./gone.ts";
import type { InstanceFault } from "./instances_size.ts";
import type { Served } from "./served.ts";

/** The time for which the database is frozen. */
const DATABASE_FROZEN_MS = 3_000;

/** The instances and their database. */
export interface Stage {
  /** The instance that it happens to. */
  index: number;
  serving: Served[];
  /** Those that were killed or stopped. */
  ended: Served[];
  start(index: number): Promise<Served>;
  server: Pick<DenoKvServer, "signal" | "restart">;
  /** The ways of the instances to the database. */
  ways: readonly FaultyWay[];
  /** How often connections fail. */
  rounds: number;
}

/** Lets a fault happen, and resolves when all instances serve again. */
export async function suffer(fault: InstanceFault, stage: Stage): Promise<void> {
  const { index, serving, ended, start, server, ways } = stage;
  const [served, way] = [serving[index], ways[index]];
  if (served === undefined || way === undefined) return;
  if (fault === "several") return await several(stage);
  if (fault === "database freeze") {
    server.signal("SIGSTOP");
    await pause(DATABASE_FROZEN_MS);
    return server.signal("SIGCONT");
  }
  if (fault === "database kill") return await server.restart();
  if (fault === "connections") return await failingConnections(way, stage.rounds);
  if (fault === "freeze") {
    served.signal("SIGSTOP");
    await untilGone(served, serving);
    served.signal("SIGCONT");
  } else if (fault === "partition") {
    way.isSilent = true;
    await untilGone(served, serving);
    way.isSilent = false;
    // What was lost of these connections does not come any more.
    way.cut();
  } else served.signal(fault === "kill" ? "SIGKILL" : "SIGTERM");
  await served.end();
  ended.push(served);
  serving[index] = await startedAgain(() => start(index));
}

/** Starts an instance as a supervisor does: again, while the database does not answer. */
async function startedAgain(start: () => Promise<Served>): Promise<Served> {
  return await eventually(async () => {
    try {
      return await start();
    } catch (error) {
      if (!String(error).includes("a Deno KV that answers")) throw error;
      return undefined;
    }
  }, { what: "an instance with its database" });
}

async function several(stage: Stage): Promise<void> {
  const { index, ways, rounds } = stage;
  const other = ways[(index + 1) % ways.length];
  const ofDatabase = async () => {
    await suffer("database freeze", stage);
    await suffer("database kill", stage);
  };
  await Promise.all([
    suffer("kill", stage),
    other && failingConnections(other, rounds),
    ofDatabase(),
  ]);
}

async function failingConnections(way: FaultyWay, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    way.delay_ms = round % 3 === 0 ? 50 : 0;
    way.losing = round % 3 === 1 ? 2 : 0;
    if (round % 3 === 2) way.cut();
    await pause(150);
  }
  way.delay_ms = way.losing = 0;
}
