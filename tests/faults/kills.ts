/**
 * The service is killed, or told to stop, at random moments under load. What senders were promised is
 * held against what there is after the last start.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type Findings, pause, Random } from "./findings.ts";
import { type KeptLaunch, type Ledger, newLedger } from "./ledger.ts";
import { Sender } from "./senders.ts";
import { serve, type Served } from "./served.ts";
import { checkStored } from "./stored.ts";
import { checkLedger } from "./check_ledger.ts";
import { MARK, workshop } from "./workshop.ts";

const SENDERS = 8;
/** How long a service lives, at most. */
const LIFE_MS = 700;
/** One of so many is killed while it starts. */
const KILLED_AT_START = 5;
/** How long a start takes, about. */
const START_MS = 900;
/** The deliveries of which each round sends some, again and again. Each runs commands. */
const DELIVERIES_A_ROUND = 15;
const DELIVERIES_MAX = 300;
/** As it is told when the service listens no more. */
const NOWHERE = 1;

/** Two actions, and a quota that many launches exceed. */
const PLAIN = "01900000-0000-7000-8000-000000000001";
/** A quota that comes back. */
const PACED = "01900000-0000-7000-8000-000000000002";
/** Repeats are recognised. */
const ONCE = "01900000-0000-7000-8000-000000000003";

/** How often. */
export interface KillSize {
  rounds: number;
  signal: "SIGKILL" | "SIGTERM";
}

/** Ends a service again and again under load, and looks at what is left of what it promised. */
export async function kills(
  findings: Findings,
  random: Random,
  { rounds, signal }: KillSize,
): Promise<void> {
  const quotas = { [PLAIN]: [3_600, rounds * 7], [PACED]: [2, 10] } as const;
  await using shop = await workshop([
    { id: PLAIN, name: "plain", conditions: [limit(quotas[PLAIN])], actions: [MARK, MARK] },
    { id: PACED, name: "paced", conditions: [limit(quotas[PACED])] },
    {
      id: ONCE,
      name: "once",
      conditions: [{ type: "deduplication", in: "header", name: "x-id", window: 86_400 }],
    },
  ]);
  const ledger = newLedger();
  // A stop is held against what is stored of each body, so there every body comes once.
  const triggers: [string, ...string[]] = signal === "SIGKILL"
    ? [PLAIN, PACED, ONCE]
    : [PLAIN, PACED];
  for (let round = 0; round < rounds; round++) {
    if (signal === "SIGKILL" && random.int(KILLED_AT_START) === 0) {
      await killAtStart(shop.folder, random.int(START_MS));
      continue;
    }
    await using served = await serve(shop.folder);
    const life_ms = random.int(LIFE_MS);
    let goesOn = true;
    const sending = Array.from(
      { length: SENDERS },
      () =>
        send({
          served,
          ledger,
          findings,
          triggers,
          deliveries: Math.min(DELIVERIES_MAX, rounds * DELIVERIES_A_ROUND),
          random: random.fork(),
          goesOn: () => goesOn,
        }),
    );
    await pause(life_ms);
    served.signal(signal);
    const { code } = await served.end();
    if (signal === "SIGTERM") {
      findings.check(code === 0, `The service ended with code ${code}:\n${served.printed()}`);
    }
    goesOn = false;
    await Promise.all(sending);
  }
  const { kept, counts } = ledger;
  findings.say(
    `${rounds} times ${signal}: ${kept.length} launches taken, ${counts.rejected} refused, ` +
      `${counts.unavailable} told to come again, ${counts.unanswered} not answered`,
  );
  {
    await using served = await serve(shop.folder);
    await checkLedger({ findings, served, ledger, shop, quotas: new Map(Object.entries(quotas)) });
    served.signal("SIGTERM");
    await served.end();
  }
  const stored = await checkStored(`${shop.folder}/data`, findings);
  findings.say(`${stored.size} runs stored`);
  if (signal === "SIGKILL") return;
  findings.check(ledger.cutOff === 0, `${ledger.cutOff} answers broke off`);
  const shas = new Set(Array.from(stored.values(), ({ payload }) => payload.sha256));
  for (const sha256 of ledger.unanswered) {
    findings.check(!shas.has(sha256), `A launch was stored whose sender was not answered`);
  }
}

function limit([period, quota]: readonly [number, number]) {
  return { type: "rate_limit", period, quota };
}

async function killAtStart(folder: string, after_ms: number): Promise<void> {
  const onSpawn = (child: Deno.ChildProcess) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), after_ms);
    child.status.finally(() => clearTimeout(timer));
  };
  try {
    await using served = await serve(folder, { onSpawn });
    await served.end();
  } catch {
    // It was killed before it listened, as it should be.
  }
}

/** Sends launches until the service is gone, and keeps what was answered. */
async function send({ served, ledger, findings, triggers, deliveries, random, goesOn }: {
  served: Served;
  ledger: Ledger;
  findings: Findings;
  triggers: readonly [string, ...string[]];
  /** The number of deliveries that come repeatedly. */
  deliveries: number;
  random: Random;
  goesOn: () => boolean;
}): Promise<void> {
  using sender = new Sender(() => served.hasEnded ? NOWHERE : served.port);
  while (goesOn()) {
    const trigger = random.pick(triggers);
    const delivery = trigger === ONCE ? random.int(deliveries) : undefined;
    const body = delivery === undefined ? bodyOf(random) : bodyOf(new Random(delivery));
    const sha256 = createHash("sha256").update(body).digest("hex");
    const launch: Omit<KeptLaunch, "runId"> = {
      trigger,
      sha256,
      sent_ms: performance.now(),
      answered_ms: 0,
      ...(delivery === undefined ? {} : { delivery }),
    };
    const headers: Record<string, string> = delivery === undefined
      ? {}
      : { "x-id": `d${delivery}` };
    const outcome = await sender.post(`/api/v0/launch/${trigger}/`, body, headers);
    launch.answered_ms = performance.now();
    ledger.note(findings, launch, outcome);
    await pause(10 + random.int(80));
  }
}

/** Some bytes; now and then so many that they are stored in chunks. */
function bodyOf(random: Random): Uint8Array<ArrayBuffer> {
  return random.bytes(random.chance(0.05) ? 150_000 : 16 + random.int(2_000));
}
