/**
 * The network between instances, their database, an S3 server and the agents of a cluster fails, while instances and
 * the database are killed and frozen, and clocks of instances jump. What happens is drawn from the seed.
 *
 * As a program it is the test itself, in namespaces of its own. Arguments: the seed, and the number of faults.
 *
 * @module
 */
import { has } from "../needs.ts";
import { type Findings, Findings as Collected, pause, Random } from "./findings.ts";
import type { Stage } from "./instance_faults.ts";
import { instances } from "./instances.ts";
import { temporaryFolder } from "../surroundings.ts";
import { LINKED, Network, type Rule, untilS3 } from "./network_stage.ts";

const INSTANCES_MIN = 3;
const INSTANCES_MAX = 5;
const LINKS_MAX = 3;
const LASTS_MS = [3_000, 20_000] as const;
const FROZEN_MS_MAX = 8_000;
/** The largest jump of a clock. An instance that starts with a clock so wrong accepts nothing. */
const JUMP_S_MAX = 3_600;
/** The largest error of an instance's clock after the jump. The clocks of two instances may differ by a second. */
const CLOCK_S_MAX = 0.4;
const NEEDED = ["denokv", "lossy-network", "rclone"] as const;

/** Runs the test in namespaces of its own, which end with it. */
export async function network(findings: Findings, random: Random, faults: number): Promise<void> {
  for (const each of NEEDED) {
    if (!has(each)) {
      return findings.say(`Left out, since ${each} is not installed, or cannot be used`);
    }
  }
  const script = 'mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec "$@"';
  const flags = ["run", "--quiet", "--lock=tests/deno.lock", "--allow-all"];
  const module = new URL(import.meta.url).pathname;
  const { success } = await new Deno.Command("unshare", {
    args: [
      ...[
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        script,
      ],
      ...["sh", Deno.execPath(), ...flags, module, String(random.seed), String(faults)],
    ],
  }).spawn().status;
  findings.check(success, "Something did not hold when the network failed");
}

if (import.meta.main) {
  const findings = new Collected(console.log);
  const [seed, faults] = Deno.args.map(Number);
  try {
    await tried(findings, new Random(seed ?? 1), faults ?? 1);
  } catch (error) {
    findings.check(false, error instanceof Error ? error.stack ?? error.message : String(error));
  }
  Deno.exit(findings.violations.length === 0 ? 0 : 1);
}

async function tried(findings: Findings, random: Random, faults: number): Promise<void> {
  await using folder = await temporaryFolder();
  const count = INSTANCES_MIN + random.int(INSTANCES_MAX - INSTANCES_MIN + 1);
  await using stage = await Network.start(folder.path, { seed: random.seed, instances: count });
  await untilS3();
  if (!stage.hasClocks) findings.say("Clocks do not jump, since faketime is not installed");
  findings.say(`${count} instances`);
  await instances(findings, random, {
    faults: Array.from({ length: faults }, () => "network"),
    network: {
      place: stage,
      suffer: (each) => suffer(findings, random, { stage: each, network: stage }),
    },
    instances: count,
    senders: 6,
    gap_ms: 30_000,
    answer_ms: 3_000,
    pause_ms: 2_500,
    changed: true,
    settle_ms: 3_000,
    deliveries: 60,
    quota: [3, 8],
  });
  findings.say(`packets: ${await stage.end()}`);
}

/** Draws a fault of the network with one of processes and of a clock, and resolves when all instances run again. */
async function suffer(
  findings: Findings,
  random: Random,
  { stage, network }: { stage: Stage; network: Network },
): Promise<void> {
  const { serving, ended, start, server } = stage;
  const lasts_ms = LASTS_MS[0] + random.int(LASTS_MS[1] - LASTS_MS[0]);
  const links: string[] = [];
  for (let left = 1 + random.int(LINKS_MAX); left > 0; left--) {
    const index = random.int(serving.length);
    const others = [...LINKED, ...serving.keys()].filter((each) => each !== index);
    const to = others[random.int(others.length)] ?? 0;
    const [name, rules] = drawn(random);
    await network.set(index, to, rules);
    links.push(`${name} between instance ${index} and ${to}`);
  }
  const index = random.int(serving.length);
  const fault = random.pick(
    ["nothing", "kill", "kill", "freeze", "stop", "database freeze", "database kill"],
  );
  const of = random.int(serving.length);
  if (random.chance(0.4)) {
    const ahead_s = random.int(2 * JUMP_S_MAX) - JUMP_S_MAX;
    await network.setClock(of, ahead_s);
    if (network.hasClocks) links.push(`the clock of instance ${of} jumps by ${ahead_s} s`);
  }
  findings.say(`${(lasts_ms / 1_000).toFixed(1)} s: ${links.join(", ")}; ${fault} ${index}`);
  const served = serving[index];
  const frozen_ms = Math.min(lasts_ms, 1_000 + random.int(FROZEN_MS_MAX));
  const process = async () => {
    if (fault === "kill") served?.signal("SIGKILL");
    if (fault === "stop") served?.signal("SIGTERM");
    if (fault === "database kill") await server.restart();
    if (fault !== "freeze" && fault !== "database freeze") return;
    const frozen = fault === "freeze" ? served : server;
    frozen?.signal("SIGSTOP");
    await pause(fault === "freeze" ? lasts_ms : frozen_ms);
    frozen?.signal("SIGCONT");
  };
  await Promise.all([pause(lasts_ms), process()]);
  await network.heal();
  await network.setClock(of, (2 * random.float() - 1) * CLOCK_S_MAX);
  if (served === undefined || (fault !== "kill" && fault !== "stop")) return;
  await served.end();
  ended.push(served);
  serving[index] = await start(index);
}

function drawn(random: Random): [name: string, rules: readonly [Rule, Rule?]] {
  const cut = { loss: 1 };
  const bad = (): Rule => ({
    loss: 0.02 + 0.13 * random.float(),
    duplicate: 0.05 * random.float(),
    delay_ms: random.int(100),
    jitter_ms: random.int(80),
  });
  return random.pick<[string, readonly [Rule, Rule?]]>([
    ["a cut", [cut, cut]],
    ["a cut of what it sends", [cut]],
    ["a cut of what it gets", [{}, cut]],
    ["a bad connection", [bad(), bad()]],
    ["a bad connection", [bad(), bad()]],
  ]);
}
