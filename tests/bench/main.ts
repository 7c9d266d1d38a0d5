/**
 * `deno task bench`: what the service does, held against floors that are measured in the same run, on
 * the same machine, a moment before or after.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { againstTable, measureAgainst, WEBHOOK } from "./against.ts";
import { Bench } from "./bench.ts";
import { measureBoot } from "./boot.ts";
import { measureCleanup } from "./cleanup.ts";
import { measureConsole } from "./console.ts";
import { measureConsoles } from "./consoles.ts";
import { measureDeliveries } from "./deliveries.ts";
import { measureEngines } from "./engines.ts";
import { measureGrowth } from "./growth.ts";
import { measureInstances } from "./instances.ts";
import { measureIsolation } from "./isolation.ts";
import { measureLaunches } from "./launch.ts";
import { measureMemory } from "./memory.ts";
import { measurePace } from "./pace.ts";
import { measurePackages } from "./packages.ts";
import { measurePayloads } from "./payloads.ts";
import { measurePolls } from "./polls.ts";
import { measureRefused } from "./refused.ts";
import { measureRuns } from "./runs.ts";
import { measureScale } from "./scale.ts";
import { measureSteps } from "./steps.ts";
import { measureStarts } from "./start.ts";
import { measureValues } from "./values.ts";
import { HEADING, type Row, rowText } from "./table.ts";

/** A part of the table. */
interface Part {
  what: string;
  measure(bench: Bench): Promise<void>;
  /** Does without the commands that make load. */
  needsNoLoad?: boolean;
  /** Measured only where it is named. */
  isLeftOut?: boolean;
}

/** The parts of the table, in their order. */
const PARTS: Readonly<Record<string, Part>> = {
  launch: { what: "Accepted launches", measure: measureLaunches },
  payloads: { what: "Large payloads", measure: measurePayloads },
  refused: { what: "Refused requests", measure: measureRefused },
  polls: { what: "Run info", measure: measurePolls },
  start: { what: "From acceptance to the command's start", measure: measureStarts },
  values: { what: "Values of requests", measure: measureValues },
  pace: { what: "Launches, pages and starts beside 100,000 runs that wait", measure: measurePace },
  runs: { what: "Runs completed under sustained launches", measure: measureRuns },
  isolation: { what: "Launches beside others at their limits", measure: measureIsolation },
  boot: { what: "From the start of the process to the first launch", measure: measureBoot },
  packages: {
    what: "Sizes of a release, and its first start",
    measure: measurePackages,
    needsNoLoad: true,
  },
  growth: { what: "All of it again with much stored", measure: measureGrowth },
  deliveries: { what: "Deliveries found among a million", measure: measureDeliveries },
  console: { what: "Pages of the console with a million deliveries", measure: measureConsole },
  consoles: { what: "Launches beside live consoles", measure: measureConsoles },
  engines: { what: "Executions on clusters", measure: measureEngines, needsNoLoad: true },
  instances: { what: "Several instances on one database", measure: measureInstances },
  steps: { what: "Steps on several machines", measure: measureSteps, needsNoLoad: true },
  memory: { what: "Memory", measure: measureMemory },
  cleanup: { what: "Cleanup while launches arrive", measure: measureCleanup },
  scale: {
    what: "Many deliveries and triggers (where it is named)",
    measure: measureScale,
    needsNoLoad: true,
    isLeftOut: true,
  },
};

const USAGE = `Usage: deno task bench [--quick] [--json] [part …]
       deno task bench scale [--deliveries N] [--triggers N]
       deno task bench --against COMMIT|webhook [--quick] [--json]

  --quick   short rows, and 20,000 stored runs instead of 1,000,000: for trying it out
  --json    print the rows as JSON, when all are measured
  --against COMMIT
            measure launches of this checkout and of that commit in turn, instead of the parts
  --against webhook
            the same with adnanh/webhook, which runs /bin/true, at 64 connections

  --deliveries, --triggers
            what is stored for the part "scale": 20,000 and 1,000 if not said otherwise

Parts, all of them unless some are named:
${Object.entries(PARTS).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`).join("\n")}

Everything is written to a new folder below TMPDIR, which should be on a disk like the service's.`;

/** The flags of what the part "scale" stores. */
const SIZES = {
  deliveries: { type: "string", default: "20000" },
  triggers: { type: "string", default: "1000" },
} as const;

/** Commands that it needs, and Debian's packages of them. */
const NEEDED = { git: "git", bash: "bash" };
const NEEDED_FOR_LOAD = { wrk: "wrk" };
const NEEDED_TO_COMPARE = { webhook: "webhook" };

const { values: { quick, json, help, against, ...sizes }, positionals } = parseArguments();
if (help) {
  console.log(USAGE);
  Deno.exit(0);
}
const usual = Object.keys(PARTS).filter((name) => PARTS[name]?.isLeftOut !== true);
const names = positionals.length === 0 ? usual : positionals;
const scale = { deliveries: Number(sizes.deliveries), triggers: Number(sizes.triggers) };
if (!Object.values(scale).every((count) => Number.isSafeInteger(count) && count >= 100)) {
  fail("--deliveries and --triggers must be whole numbers of at least 100");
}
if (names.some((name) => !(name in PARTS)) || against !== undefined && positionals.length > 0) {
  fail(USAGE);
}
const makesLoad = names.some((name) => PARTS[name]?.needsNoLoad !== true);
const needed = {
  ...NEEDED,
  ...(makesLoad || against !== undefined ? NEEDED_FOR_LOAD : {}),
  ...(against === WEBHOOK || makesLoad && against === undefined ? NEEDED_TO_COMPARE : {}),
};
const missing = Object.entries(needed).filter(([command]) => !isInstalled(command));
if (missing.length > 0) {
  const packages = missing.map(([, name]) => name).join(" ");
  fail(`The benchmark needs what is not installed: apt-get install ${packages}`);
}

const rows: (Row & { part: string })[] = [];
let part = "";
const folder = await Deno.makeTempDir({ prefix: "hooklaunch-bench-" });
const bench = new Bench(folder, quick, (row) => {
  rows.push({ part, ...row });
  if (!json) console.log(rowText(row));
}, scale);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, async () => {
    await bench.close();
    Deno.exit(1);
  });
}
if (against !== undefined) {
  try {
    const pairs = await measureAgainst(bench, against);
    console.log(json ? JSON.stringify(pairs, null, 2) : againstTable(pairs, against));
  } finally {
    await bench.close();
  }
  Deno.exit(0);
}
const began_ms = performance.now();
let hasFailed = false;
try {
  if (!json) console.log(HEADING);
  for (const name of names) if (!bench.isClosed) await measurePart(name);
} finally {
  await bench.close();
}
const aimed = rows.filter(({ aim }) => aim !== "");
const missed = aimed.filter(({ met }) => !met).length;
if (json) console.log(JSON.stringify(rows, null, 2));
else {
  const took_s = ((performance.now() - began_ms) / 1_000).toFixed(0);
  console.log(`\n${aimed.length - missed} of ${aimed.length} aims met, measured in ${took_s} s`);
}
Deno.exit(hasFailed ? 1 : 0);

async function measurePart(name: string): Promise<void> {
  const { what, measure } = PARTS[name] ?? {};
  if (!json) console.log(`\n${what}`);
  part = name;
  try {
    await measure?.(bench);
  } catch (error) {
    if (bench.isClosed) return;
    // The others can be measured all the same.
    hasFailed = true;
    console.error(`Cannot measure the part "${name}":`, error);
  }
}

function parseArguments() {
  try {
    const flag = { type: "boolean", default: false } as const;
    const options = {
      quick: flag,
      json: flag,
      help: flag,
      against: { type: "string" },
      ...SIZES,
    } as const;
    return parseArgs({ options, allowPositionals: true });
  } catch {
    fail(USAGE);
  }
}

function isInstalled(command: string): boolean {
  const options = { stdout: "null", stderr: "null" } as const;
  const args = ["-c", `command -v ${command}`];
  return new Deno.Command("sh", { args, ...options }).outputSync().success;
}

function fail(text: string): never {
  console.error(text);
  Deno.exit(2);
}
