/**
 * A disk that fills up: slowly, so that the service can see it come, and at once, in the middle of
 * everything. Launches are answered 503, reads go on, and all is as before when there is room again.
 *
 * @module
 */
import { join } from "node:path";
import { eventually } from "../surroundings.ts";
import { type Findings, pause, type Random } from "./findings.ts";
import { type Answer, Sender } from "./senders.ts";
import { serve, type Served, shell, TOKEN, unmount } from "./served.ts";
import { checkStored } from "./stored.ts";
import { workshop } from "./workshop.ts";

/** Below this the service turns launches away. */
const RESERVE_MIB = 32;
/** Twice the room with which messages wake the worker, which is several times what all launches leave. */
const DISK_MIB = 512;
const SENDERS = 8;
const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;

/** How long it takes. */
export interface FullDiskSize {
  /** How often the disk is filled. */
  rounds: number;
  /** How long it stays full. */
  full_ms: number;
  /** The pause of a sender between two launches. */
  pause_ms: number;
}

/** A file system of its own. It is taken away at the end of its scope. */
interface Disk extends AsyncDisposable {
  path: string;
  /** Leaves so much room, in MiB. */
  leave(mib: number): Promise<void>;
  /** Takes all the room that is left, to the last byte. */
  fill(): Promise<void>;
  empty(): Promise<void>;
}

async function mount(path: string): Promise<Disk> {
  await Deno.mkdir(path);
  await shell(`mount -t tmpfs -o size=${DISK_MIB}m tmpfs '${path}'`);
  const filler = `${path}/filler`;
  return {
    path,
    async leave(mib) {
      await shell(
        `free=$(df -Pk '${path}' | awk 'NR==2 {print $4}') && ` +
          `fallocate -l $((free - ${mib} * 1024))k '${filler}'`,
      );
    },
    async fill() {
      await shell(`cat /dev/zero > '${filler}.rest' 2>/dev/null || true`);
    },
    async empty() {
      await shell(`rm -f '${filler}' '${filler}.rest'`);
    },
    [Symbol.asyncDispose]: () => unmount(path),
  };
}

/** Fills the disk of a service that is under load, again and again. */
export async function fullDisk(
  findings: Findings,
  random: Random,
  { rounds, full_ms, pause_ms }: FullDiskSize,
): Promise<void> {
  await using shop = await workshop([{
    id: ID,
    name: "t",
    conditions: [{ type: "rate_limit", period: 31_536_000, quota: 1_000_000 }],
  }]);
  await using disk = await mount(join(shop.folder, "disk"));
  const data = `${disk.path}/data`;
  const kept = new Set<string>();
  {
    await using served = await serve(shop.folder, { data });
    for (let round = 0; round < rounds; round++) {
      await nearlyFull(findings, served, disk);
      await full({ findings, random, served, disk, kept, full_ms, pause_ms });
    }
    await checkRuns(findings, served, kept);
    const metrics = await fetch(`${served.url}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const [, sent = "0"] =
      /^hooklaunch_queue_messages_sent_total (\d+)$/m.exec(await metrics.text()) ?? [];
    findings.check(Number(sent) > 0, "No message was sent");
    findings.say(`${sent} messages have woken the worker`);
    served.signal("SIGTERM");
    const { code } = await served.end();
    findings.check(code === 0, `The service ended with code ${code}:\n${served.printed()}`);
  }
  const runs = await checkStored(data, findings);
  const marks = await shop.marks();
  for (const count of marks.values()) findings.check(count === 1, `A command ran ${count} times`);
  findings.say(`${kept.size} launches taken, ${runs.size} runs stored, ${marks.size} commands run`);
}

/** There is room, but less than the reserve: launches are turned away, and what is begun goes on. */
async function nearlyFull(findings: Findings, served: Served, disk: Disk): Promise<void> {
  const runId = await launchOne(served);
  await disk.leave(RESERVE_MIB / 2);
  await eventually(async () => await isReady(served) ? undefined : true, {
    what: "a service that is not ready",
  });
  using sender = new Sender(() => served.port);
  const outcome = await sender.post(LAUNCH, new Uint8Array(100));
  checkRefusal(findings, outcome);
  const info = await served.api(`${served.url}${LAUNCH}run/?run_id=${runId}&wait=10`);
  findings.check(info.status === "completed", `A run on a nearly full disk is ${info.status}`);
  await disk.empty();
  await eventually(async () => await isReady(served) || undefined, { what: "a ready service" });
}

/** The room is gone in a moment, while launches come. */
async function full({ findings, random, served, disk, kept, full_ms, pause_ms }: {
  findings: Findings;
  random: Random;
  served: Served;
  disk: Disk;
  kept: Set<string>;
  full_ms: number;
  pause_ms: number;
}): Promise<void> {
  const known = await launchOne(served);
  const seen = { taken: 0, refused: 0, slowest_ms: 0 };
  let goesOn = true;
  const senders = Array.from({ length: SENDERS }, async () => {
    using sender = new Sender(() => served.port);
    const drawn = random.fork();
    while (goesOn && !served.hasEnded) {
      const body = drawn.bytes(drawn.chance(0.1) ? 200_000 : drawn.int(2_000));
      const began_ms = performance.now();
      const outcome = await sender.post(LAUNCH, body);
      seen.slowest_ms = Math.max(seen.slowest_ms, performance.now() - began_ms);
      if (typeof outcome !== "string" && outcome.status === 200) {
        seen.taken++;
        kept.add(outcome.body);
      } else {
        seen.refused++;
        checkRefusal(findings, outcome);
      }
      await pause(pause_ms);
    }
  });
  await pause(300 + random.int(500));
  await disk.fill();
  const until_ms = performance.now() + full_ms;
  await eventually(async () => await isReady(served) ? undefined : true, { what: "not ready" });
  while (performance.now() < until_ms && !served.hasEnded) {
    await checkReads(findings, served, known);
    await pause(200);
  }
  goesOn = false;
  await Promise.all(senders);
  findings.check(!served.hasEnded, `The service has ended:\n${served.printed()}`);
  findings.check(seen.refused > 0, "Nothing was refused while the disk was full");
  await disk.empty();
  const emptied_ms = performance.now();
  await eventually(async () => await isReady(served) || undefined, { what: "a ready service" });
  await launchOne(served);
  const back_ms = Math.round(performance.now() - emptied_ms);
  findings.say(
    `full for ${full_ms} ms: ${seen.taken} taken, ${seen.refused} refused, slowest answer ` +
      `${Math.round(seen.slowest_ms)} ms; accepting again ${back_ms} ms after there was room`,
  );
}

async function checkReads(findings: Findings, served: Served, runId: string): Promise<void> {
  const health = await fetch(`${served.url}/healthz`);
  findings.check(await health.text() === "ok\n", "/healthz is not ok");
  const info = await fetch(`${served.url}${LAUNCH}run/?run_id=${runId}`);
  findings.check(info.status === 200, `Run info answers ${info.status}: ${await info.text()}`);
  const runs = await fetch(`${served.url}/api/v0/triggers/`, { headers: { authorization: "x" } });
  await runs.body?.cancel();
  findings.check(runs.status === 401, `An operator without a token is answered ${runs.status}`);
}

function checkRefusal(findings: Findings, outcome: Answer | string): void {
  if (typeof outcome === "string") return findings.check(false, `A launch was ${outcome}`);
  const { status, headers } = outcome;
  const isRight = status === 503 && Number(headers.get("retry-after")) > 0;
  findings.check(
    isRight,
    `A launch was answered ${status}, Retry-After ${headers.get("retry-after")}`,
  );
}

/** Each launch that was taken ends, and its execution does, well or with a reason. */
async function checkRuns(
  findings: Findings,
  served: Served,
  kept: ReadonlySet<string>,
): Promise<void> {
  const ends = { complete: 0, error: 0 };
  for (const id of kept) {
    const info = await served.api(`${served.url}${LAUNCH}run/?run_id=${id}&wait=30`);
    findings.check(info.status === "completed", `Run ${id} is ${info.status}`);
    const execution_id = info.result?.[0]?.execution_id;
    if (execution_id === undefined) continue;
    const { status, reason } = await eventually(async () => {
      const execution = await served.api(`executions/${execution_id}/`);
      return execution.ended_at === undefined ? undefined : execution;
    }, { what: `the end of execution ${execution_id}` });
    if (status === "complete") ends.complete++;
    else ends.error++;
    findings.check(status === "complete" || reason !== undefined, `${execution_id} is ${status}`);
  }
  findings.say(`${ends.complete} executions complete, ${ends.error} ended with a reason`);
}

async function isReady(served: Served): Promise<boolean> {
  const answer = await fetch(`${served.url}/readyz`);
  await answer.body?.cancel();
  return answer.ok;
}

async function launchOne(served: Served): Promise<string> {
  const answer = await fetch(`${served.url}${LAUNCH}`, { method: "POST", body: "one" });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`A launch was answered ${answer.status}: ${text}`);
  return text;
}
