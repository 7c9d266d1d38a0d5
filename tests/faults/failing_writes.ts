/**
 * Writes that fail under the running service: `strace` makes system calls fail for a moment, while
 * launches come. Nothing is answered 200 that is not there after a restart, and a disk that fails ends
 * the service.
 *
 * @module
 */
import { eventually } from "../surroundings.ts";
import { type Findings, pause, type Random } from "./findings.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, shell } from "./served.ts";
import { checkStored } from "./stored.ts";
import { type Workshop, workshop } from "./workshop.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
const SENDERS = 4;
const ENDS_WITHIN_MS = 30_000;
const MOMENTS_MAX = 10;

/** Calls of the system that fail, how, and whether the service must end. */
export const FAILURES = [
  { calls: "fsync,fdatasync", error: "EIO", endsService: true },
  { calls: "pwrite64", error: "EIO", endsService: true },
  // Where a message of the queue is under way, Deno ends the process: see wake_up_queue.ts.
  { calls: "pwrite64", error: "ENOSPC", endsService: false },
  { calls: "rename,renameat,renameat2", error: "EIO", endsService: false },
] as const;

/** One of {@linkcode FAILURES}. */
export type Failure = typeof FAILURES[number];

/**
 * Lets calls fail once, at a random moment under load, and holds what was promised against what is stored.
 *
 * @param pause_ms the longest pause of a sender between two launches
 */
export async function failingWrites(
  findings: Findings,
  random: Random,
  { calls, error, endsService }: Failure,
  pause_ms: number,
): Promise<void> {
  await using shop = await workshop([{ id: ID, name: "t" }]);
  const kept: string[] = [];
  let end: Deno.CommandStatus | undefined;
  {
    await using served = await serve(shop.folder);
    const sending = send(served, random, kept, pause_ms);
    await pause(200 + random.int(600));
    // On a busy machine a moment may pass without a commit: a disk that must end the service fails again.
    for (let moment = 0; moment < (endsService ? MOMENTS_MAX : 1); moment++) {
      if (served.hasEnded) break;
      await shell(inject(served.pid, { calls, error, duration_s: 0.2 + random.float() / 2 }));
      // A disk that failed is found with the next commit.
      await pause(500);
    }
    sending.stop();
    if (endsService) {
      end = await eventually(() => served.hasEnded ? served.end() : undefined, {
        what: "the end of the service",
        within_ms: ENDS_WITHIN_MS,
      });
    } else {
      served.signal("SIGTERM");
      end = await served.end();
    }
    await sending.stopped;
    // Deno KV's queue ends the process by itself when it cannot take a message off.
    const isQueue = /KV queue dequeue failed/.test(served.printed());
    const isExpected = end.code === 1 || isQueue ? endsService || error === "ENOSPC" : !endsService;
    findings.check(
      isExpected,
      `After ${calls} with ${error} it ended with ${end.code}:\n${served.printed()}`,
    );
    if (endsService && !isQueue) {
      findings.check(/The database failed/.test(served.printed()), served.printed());
    }
  }
  findings.say(`${calls} with ${error}: code ${end.code}, ${kept.length} launches taken`);
  await checkKept(findings, shop, kept);
}

/** The line of shell that makes calls of a process fail for a while. */
function inject(
  pid: number,
  { calls, error, duration_s }: { calls: string; error: string; duration_s: number },
): string {
  const options = `-f -qq -o /dev/null -e trace=${calls} -e inject=${calls}:error=${error}`;
  // Told to end it lets the process go on, but for a fork under way, where it waits until it is killed.
  return `timeout -k 1 -s INT ${duration_s.toFixed(2)} strace ${options} -p ${pid}; true`;
}

/** Launches until told to stop, and keeps what was answered 200. */
function send(served: Served, random: Random, kept: string[], pause_ms: number) {
  let goesOn = true;
  const stopped = Promise.all(Array.from({ length: SENDERS }, async () => {
    using sender = new Sender(() => served.port);
    const drawn = random.fork();
    while (goesOn && !served.hasEnded) {
      const body = drawn.bytes(drawn.chance(0.1) ? 200_000 : drawn.int(2_000));
      const outcome = await sender.post(LAUNCH, body);
      if (typeof outcome !== "string" && outcome.status === 200) kept.push(outcome.body);
      await pause(drawn.int(pause_ms));
    }
  }));
  return { stop: () => void (goesOn = false), stopped };
}

/** Starts the service again, and looks for what was promised. */
async function checkKept(
  findings: Findings,
  shop: Workshop,
  kept: readonly string[],
): Promise<void> {
  {
    await using served = await serve(shop.folder);
    for (const id of kept) {
      const info = await served.api(`${served.url}${LAUNCH}run/?run_id=${id}&wait=30`);
      findings.check(info.status === "completed", `Run ${id} was promised and is ${info.status}`);
      const execution_id = info.result?.[0]?.execution_id;
      const { status } = await eventually(async () => {
        const execution = await served.api(`executions/${execution_id}/`);
        return execution.ended_at === undefined ? undefined : execution;
      }, { what: `the end of execution ${execution_id}`, within_ms: ENDS_WITHIN_MS });
      findings.check(["complete", "error"].includes(status), `${execution_id} is ${status}`);
    }
    served.signal("SIGTERM");
    await served.end();
  }
  const runs = await checkStored(`${shop.folder}/data`, findings);
  for (const id of kept) findings.check(runs.has(id), `Run ${id} was promised and is not there`);
  for (const [id, count] of await shop.marks()) {
    findings.check(count === 1, `The command of ${id} ran ${count} times`);
  }
}
