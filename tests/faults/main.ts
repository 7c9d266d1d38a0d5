/**
 * `deno task faults`: what must hold when things go wrong, at length. Prints what it did and found, and
 * ends with code 1 when something did not hold. A short form of each part belongs to `deno task test`.
 *
 *     deno task faults [--seed NUMBER] [--kills NUMBER] [--faults NUMBER] [part …]
 *     deno task faults report
 *
 * @module
 */
import { parseArgs } from "node:util";
import { has } from "../needs.ts";
import { clock } from "./clock.ts";
import { crowd } from "./crowd.ts";
import { damage, KINDS } from "./damage.ts";
import { checkOutEarlier, hasEarlier } from "./earlier.ts";
import { engines, release } from "./engines.ts";
import { failingWrites, FAILURES } from "./failing_writes.ts";
import { Findings, Random } from "./findings.ts";
import { fullDisk } from "./full_disk.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzBodies } from "./fuzz_bodies.ts";
import { hostedFaults } from "../deploy/hosted_faults.ts";
import { instances } from "./instances.ts";
import { kills } from "./kills.ts";
import { network } from "./network.ts";
import { power } from "./power.ts";
import { overload } from "./overload.ts";
import { report } from "./report.ts";

/** One part of the tests. */
interface Part {
  what: string;
  /** What it needs of the machine. */
  needs?: Parameters<typeof has>[0];
  run(findings: Findings, random: Random): Promise<void>;
}

const { values, positionals } = parseArguments();
const rounds = Number(values.kills);
/** Returns how many faults a part has that has so many if not said otherwise. */
const faultsOf = (usual: number) => values.faults === undefined ? usual : Number(values.faults);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));

const parts: Readonly<Record<string, Part>> = {
  sigkill: {
    what: `SIGKILL at ${rounds} random moments under load`,
    run: (findings, random) => kills(findings, random, { rounds, signal: "SIGKILL" }),
  },
  sigterm: {
    what: `SIGTERM at ${Math.ceil(rounds / 4)} random moments under load`,
    run: (findings, random) =>
      kills(findings, random, { rounds: Math.ceil(rounds / 4), signal: "SIGTERM" }),
  },
  disk: {
    what: "A full disk",
    needs: "mount",
    async run(findings, random) {
      await fullDisk(findings, random, { rounds: 5, full_ms: 3_000, pause_ms: 20 });
      // Longer than the database waits between two looks at what it could do by itself.
      await fullDisk(findings, random, { rounds: 1, full_ms: 75_000, pause_ms: 20 });
    },
  },
  power: {
    what: "The power is cut 20 times under load",
    needs: "xfs_io",
    run: (findings, random) => power(findings, random, { cuts: 20, pause_ms: 60 }),
  },
  writes: {
    what: "fsync, writes and renames that fail at random moments under load",
    needs: "strace",
    async run(findings, random) {
      for (let round = 0; round < 5; round++) {
        for (const failure of FAILURES) await failingWrites(findings, random, failure, 20);
      }
    },
  },
  clock: {
    what: "The clock jumps by hours",
    run: (findings, random) => clock(findings, random, { jumps: 200, restartEvery: 20 }),
  },
  instances: {
    what: "Three instances on one denokv server, killed, frozen and cut off in turn",
    needs: "denokv",
    run: (findings, random) =>
      instances(findings, random, {
        faults: [
          "kill",
          "freeze",
          "stop",
          "connections",
          "database freeze",
          "database kill",
          "kill",
          "freeze",
          "kill",
          "connections",
        ],
        gap_ms: 1_000,
        answer_ms: 500,
        pause_ms: 20,
        paced: 10,
        changed: true,
        settle_ms: 3_000,
      }),
  },
  upgrade: {
    what: "Three instances of an earlier version are replaced one by one, and killed, twice",
    needs: "denokv",
    async run(findings, random) {
      if (!hasEarlier) return findings.say("Left out: the history does not have that version");
      const earlier = await checkOutEarlier();
      const rest = { gap_ms: 10_000, answer_ms: 3_000, pause_ms: 300, paced: 3, changed: true };
      for (const kind of ["stop", "kill"] as const) {
        const faults = [kind, "upgrade", kind, "upgrade", kind, "upgrade", kind] as const;
        await instances(findings, random, { ...rest, earlier, faults, settle_ms: 3_000 });
      }
    },
  },
  several: {
    what: "Three instances, of which one cannot reach the database, and several faults at once",
    needs: "denokv",
    run: (findings, random) =>
      instances(findings, random, {
        faults: ["partition", "several", "several", "partition", "several"],
        // The time after which an instance counts as gone.
        gap_ms: 15_000,
        answer_ms: 1_000,
        pause_ms: 100,
        paced: 10,
        changed: true,
        settle_ms: 3_000,
      }),
  },
  network: {
    what:
      "Three to five instances, denokv, S3 and agents in network namespaces, between which packets are lost",
    run: (findings, random) => network(findings, random, faultsOf(20)),
  },
  paces: {
    what: "Runs with a pace on three instances for ten minutes, killed at random moments",
    needs: "denokv",
    run: (findings, random) =>
      instances(findings, random, {
        faults: Array.from({ length: faultsOf(40) }, () =>
          random.pick(["kill", "kill", "kill", "stop", "freeze", "connections", "database kill"])),
        gap_ms: 10_000,
        // Beside other load an answer takes long.
        answer_ms: 3_000,
        pause_ms: 1_000,
        // Each launch of theirs runs a command: more than a busy machine runs would wait before the paced ones.
        senders: 4,
        // Work stops for 15 s with each leader that is killed, and is to catch up before the end.
        paced: 3,
        settle_ms: 5_000,
      }),
  },
  steps: {
    what: "Steps on machines that share an artifact store, killed and cut off at random moments",
    needs: "denokv",
    run: (findings, random) =>
      instances(findings, random, {
        faults: Array.from({ length: faultsOf(20) }, () =>
          random.pick([
            "kill",
            "kill",
            "stop",
            "freeze",
            "partition",
            "connections",
            "database kill",
            "several",
          ])),
        instances: 3 + random.int(2),
        gap_ms: 15_000,
        answer_ms: 3_000,
        // As many steps as the machines perform, so that most wait for a place somewhere.
        pause_ms: 2_000,
        senders: 4,
        shares: true,
        settle_ms: 3_000,
      }),
  },
  rush: {
    what: "More launches than places and quotas on three instances, one of which is killed",
    needs: "denokv",
    run: (findings, random) =>
      instances(findings, random, {
        faults: ["kill"],
        gap_ms: 120_000,
        answer_ms: 3_000,
        pause_ms: 600,
        paced: 1.5,
        settle_ms: 5_000,
        quota: [3, 8],
        deliveries: 12,
        least: 10,
      }),
  },
  hosted: {
    what:
      "Processes on a platform like Deno Deploy, stopped and killed at random moments under load",
    run: (findings, random) =>
      hostedFaults(findings, random, { stops: 30, launches: 40, most: 3, kills: 0.4 }),
  },
  damage: {
    what: "Damaged records",
    run: (findings, random) => damage(findings, random, KINDS.map((kind) => [kind])),
  },
  engines: {
    what: "The contract of engines and their faults, on Slurm, Kubernetes and a cluster that fails",
    run: engines,
  },
  release: {
    what: "A release made twice, with images of both processors: the same bytes",
    run: release,
  },
  overload: {
    what: "Twenty times more launches at once than can wait to be stored",
    needs: "h2load",
    run: (findings) => overload(findings, { connections: 12_000, duration_s: 60, leastTaken: 0.1 }),
  },
  crowd: {
    what: "Idle connections and slow senders",
    // More slow senders than bodies may be arriving at once.
    run: (findings) => crowd(findings, { idle: 10_000, slow: 1_500, launches: 500 }),
  },
  fuzz: {
    what: "100,000 drawn requests",
    run: (findings, random) => fuzz(findings, random, 100_000),
  },
  bodies: {
    what: "50,000 drawn bodies and codings",
    run: (findings, random) =>
      fuzzBodies(findings, random, { requests: 50_000, otherP99_ms: 1_000 }),
  },
};

const USAGE = `Usage: deno task faults [--seed NUMBER] [--kills NUMBER] [--faults NUMBER] [part …]
       deno task faults report

  report    repeat the runs of src/docs/proof.md with their seeds, and simulate and plant mistakes
  --seed    what is drawn at random follows from it; without it another one is taken, and printed
  --kills   how often the service is killed, 100 times if not said otherwise
  --faults  how many faults the parts "network", "paces" and "steps" have, 20 or 40 if not said
            otherwise: a fault takes up to a minute

Parts, all of them unless some are named:
${Object.entries(parts).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`).join("\n")}`;

if (values.help) {
  console.log(USAGE);
  Deno.exit(0);
}
if (positionals.join() === "report") Deno.exit(await report() === 0 ? 0 : 1);
const unknown = positionals.filter((name) => !(name in parts));
if (unknown.length > 0) fail(`There is no part ${unknown.join(", ")}`);
if (!Number.isSafeInteger(seed)) fail(`--seed must be a whole number, found ${values.seed}`);
if (!Number.isSafeInteger(faultsOf(1)) || faultsOf(1) < 1) {
  fail(`--faults must be a whole number of at least 1, found ${values.faults}`);
}
if (!Number.isSafeInteger(rounds) || rounds < 1) {
  fail(`--kills must be a whole number of at least 1, found ${values.kills}`);
}
console.log(`The seed is ${seed}`);
let violations = 0;
for (const [name, part] of Object.entries(parts)) {
  if (positionals.length === 0 || positionals.includes(name)) violations += await runPart(part);
}
console.log(violations === 0 ? "Everything held" : `${violations} violations, seed ${seed}`);
Deno.exit(violations === 0 ? 0 : 1);

function parseArguments() {
  try {
    return parseArgs({
      options: {
        seed: { type: "string" },
        kills: { type: "string", default: "100" },
        faults: { type: "string" },
        help: { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}; --help tells what there is`);
    Deno.exit(2);
  }
}

function fail(message: string): never {
  console.error(`${message}\n\n${USAGE}`);
  Deno.exit(2);
}

async function runPart({ what, needs, run }: Part): Promise<number> {
  if (needs !== undefined && !has(needs)) {
    console.log(`${what}: left out, since ${needs} is not installed, or cannot be used`);
    return 0;
  }
  console.log(what);
  const findings = new Findings(console.log);
  const began_ms = performance.now();
  try {
    await run(findings, new Random(seed));
  } catch (error) {
    findings.check(false, error instanceof Error ? error.stack ?? error.message : String(error));
  }
  findings.say(`${((performance.now() - began_ms) / 1_000).toFixed(0)} s`);
  return findings.violations.length;
}
