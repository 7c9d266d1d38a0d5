/**
 * The power is cut again and again, under load: launches of all sizes, executions with outputs, pipelines,
 * fetches and a backup are under way. What senders were promised, and what records say, must be on the
 * disk when it is back.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { findDamage } from "../../src/store/file/integrity.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { GitFixture } from "../projects/code/git_fixture.ts";
import { HOOKLAUNCH } from "../commands/process.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { type Findings, pause, type Random } from "./findings.ts";
import { PowerDisk } from "./power_disk.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, TOKEN } from "./served.ts";
import { checkStored } from "./stored.ts";
import { marksIn } from "./workshop.ts";

const SENDERS = 6;
/** Room for the outputs of all executions; the file of the disk takes only what is used. */
const DISK_MIB = 8_192;
/** The executions of all cuts may wait for their turn. */
const ENDS_WITHIN_MS = 600_000;
const MIB = 1_024 * 1_024;

/** The triggers, by what they launch. */
const TRIGGERS = {
  execution: "01900000-0000-7000-8000-000000000001",
  pipeline: "01900000-0000-7000-8000-000000000002",
  fetch: "01900000-0000-7000-8000-000000000003",
} as const;
type Trigger = keyof typeof TRIGGERS;

/** A launch that was answered 200. */
interface Kept {
  runId: string;
  sha256: string;
}

/** An execution, as the API shows it. */
interface ShownExecution {
  id: string;
  status: string;
  reason?: string;
  outputs: { path: string; size: number; sha256: string }[];
}

/** The size of a form of the test. */
export interface PowerSize {
  cuts: number;
  /** The longest pause of a sender between two launches. */
  pause_ms: number;
}

/** Cuts the power again and again. */
export async function power(
  findings: Findings,
  random: Random,
  { cuts, pause_ms }: PowerSize,
): Promise<void> {
  await using folder = await temporaryFolder();
  const { path } = folder;
  const remote = await configure(path);
  await using disk = await PowerDisk.make(path, DISK_MIB);
  const data = join(disk.path, "data");
  const all: Kept[] = [];
  let kept: Kept[] = [];
  for (let cut = 0; cut < cuts; cut++) {
    await using served = await serve(path, { data, bootId: crypto.randomUUID() });
    await checkKept(findings, served, kept);
    const stage = { served, disk, remote, folder: path, data };
    kept = await launchUntilCut({ findings, random, pause_ms, ...stage });
    all.push(...kept);
    await served.end();
    await disk.bringBack();
  }
  {
    await using served = await serve(path, { data, bootId: crypto.randomUUID() });
    await checkKept(findings, served, kept);
    await checkExecutions(findings, served);
    await checkNew(findings, served);
    served.signal("SIGTERM");
    await served.end();
  }
  const damage = findDamage(join(data, DATABASE_FILE));
  findings.check(damage === undefined, `The database is damaged: ${damage}`);
  const runs = await checkStored(data, findings);
  for (const { runId } of all) findings.check(runs.has(runId), `Run ${runId} is not there`);
  const marks = await marksIn(join(path, "marks"));
  for (const [id, count] of marks) {
    findings.check(count === 1, `The command of ${id} ran ${count} times`);
  }
  findings.say(
    `${all.length} launches taken, ${runs.size} runs stored, ${marks.size} commands run`,
  );
}

/** Writes the configuration of a service whose project is a repository. */
async function configure(folder: string): Promise<GitFixture> {
  await Deno.mkdir(join(folder, "marks"));
  const command = [
    `echo started >> '${folder}/marks'/$VH_EXECUTION_ID`,
    'cat "$VH_INPUTS_DIR"/body/* > "$VH_OUTPUTS_DIR/body"',
    'mkdir "$VH_OUTPUTS_DIR/more"',
    'head -c 1000000 /dev/urandom > "$VH_OUTPUTS_DIR/more/large"',
    "echo ended",
  ].join("\n");
  const node = (name: string) => ({ name, type: "execution", step: "make" });
  const file = [
    { step: { name: "make", image: "i", command, inputs: [{ name: "body" }] } },
    {
      pipeline: {
        name: "chain",
        nodes: [node("first"), node("second")],
        edges: [["first.output.body", "second.input.body"]],
      },
    },
  ];
  const remote = await GitFixture.make(join(folder, "remote"), {
    "valohai.yaml": JSON.stringify(file),
  });
  const execution = { type: "run_execution", step: "make", payload_input_name: "body" };
  const actions = {
    execution: [execution],
    pipeline: [{ type: "run_pipeline", pipeline: "chain", payload_input_name: "first.body" }],
    fetch: [{ type: "fetch_repository" }, execution],
  };
  const triggers = Object.entries(TRIGGERS).map(([name, id]) => ({
    id,
    name,
    project: "p",
    // Each kind of the above is the name of a trigger.
    actions: actions[name as Trigger],
    response: { type: "text", text: "{run_id}" },
  }));
  const projects = [{ name: "p", repository: remote.path }];
  await Deno.writeTextFile(
    join(folder, "hooklaunch.yaml"),
    JSON.stringify({ projects, triggers }),
  );
  return remote;
}

/** Launches, fetches and backs up, cuts the power at a random moment, and ends the service. */
async function launchUntilCut(
  { findings, random, pause_ms, served, disk, remote, folder, data }: {
    findings: Findings;
    random: Random;
    pause_ms: number;
    served: Served;
    disk: PowerDisk;
    remote: GitFixture;
    folder: string;
    data: string;
  },
): Promise<Kept[]> {
  const kept: Kept[] = [];
  const senders = Array.from({ length: SENDERS }, async (_, index) => {
    using sender = new Sender(() => served.port);
    const drawn = random.fork();
    while (!served.hasEnded) {
      const trigger = index === 0 ? "fetch" : drawn.chance(0.3) ? "pipeline" : "execution";
      if (trigger === "fetch") await remote.commit({ "file.txt": String(drawn.int(1e9)) });
      const body = bodyOf(drawn);
      const outcome = await sender.post(`/api/v0/launch/${TRIGGERS[trigger]}/`, body);
      if (typeof outcome !== "string" && outcome.isWhole && outcome.status === 200) {
        const sha256 = createHash("sha256").update(body).digest("hex");
        kept.push({ runId: outcome.body, sha256 });
      }
      await pause(drawn.int(pause_ms));
    }
  });
  const backup = new Deno.Command(Deno.execPath(), {
    args: [...HOOKLAUNCH, "backup", join(folder, "backup.tar.gz"), "--force", "--data", data],
    stdout: "null",
    stderr: "null",
  }).spawn();
  await pause(300 + random.int(2_000));
  await disk.cut();
  served.signal("SIGKILL");
  await Promise.all(senders);
  await backup.status;
  findings.say(`cut: ${kept.length} launches taken`);
  return kept;
}

/** From 40 bytes to 1 MiB, most of them short. */
function bodyOf(random: Random): Uint8Array<ArrayBuffer> {
  if (random.chance(0.1)) return random.bytes(64 * 1_024 + random.int(MIB - 64 * 1_024));
  return random.bytes(40 + random.int(4_000));
}

/** Each launch that was answered 200 is known with its payload, and ends. */
async function checkKept(
  findings: Findings,
  served: Served,
  kept: readonly Kept[],
): Promise<void> {
  for (const { runId, sha256 } of kept) {
    const run = await eventually(async () => {
      const found = await served.api(`runs/${runId}/`);
      return found.status === "pending" ? undefined : found;
    }, { what: `the end of run ${runId}`, within_ms: ENDS_WITHIN_MS });
    findings.check(run.id === runId, `Run ${runId} was promised and is not there`);
    if (run.id !== runId) continue;
    const errors = JSON.stringify(run.actions);
    findings.check(run.status === "completed", `Run ${runId} is ${run.status}: ${errors}`);
    const payload = await bytesOf(served, `runs/${runId}/payload/`);
    findings.check(payload.sha256 === sha256, `The payload of run ${runId} is not what was sent`);
  }
}

/** What is launched after the last cut does its work. */
async function checkNew(findings: Findings, served: Served): Promise<void> {
  for (const [name, id] of Object.entries(TRIGGERS)) {
    const url = `${served.url}/api/v0/launch/${id}/`;
    const answer = await fetch(url, { method: "POST", body: "new" });
    const runId = await answer.text();
    findings.check(answer.ok, `A new launch is answered ${answer.status}: ${runId}`);
    if (!answer.ok) continue;
    const run = await eventually(async () => {
      const found = await served.api(`runs/${runId}/`);
      return found.status === "pending" ? undefined : found;
    }, { what: `the end of run ${runId}`, within_ms: ENDS_WITHIN_MS });
    findings.check(run.status === "completed", `A new ${name} is ${JSON.stringify(run.actions)}`);
    const created = run.actions.at(-1)?.created ?? {};
    const path = created.pipeline_id === undefined
      ? `executions/${created.execution_id}/`
      : `pipelines/${created.pipeline_id}/`;
    const { status, reason } = await untilEnded(served, path);
    findings.check(status === "complete", `A new ${name} is ${status}: ${reason}`);
  }
}

async function untilEnded(served: Served, path: string): Promise<ShownExecution> {
  return await eventually(async () => {
    const found = await served.api(path);
    return found.ended_at === undefined ? undefined : found;
  }, { what: `the end of ${path}`, within_ms: ENDS_WITHIN_MS });
}

/** Every execution ends. The outputs and the log of complete ones are what their records say. */
async function checkExecutions(findings: Findings, served: Served): Promise<void> {
  const executions: ShownExecution[] = await eventually(async () => {
    const found = await served.all("executions/?limit=200");
    return found.every(({ ended_at }) => ended_at !== undefined) ? found : undefined;
  }, { what: "the end of all executions", within_ms: ENDS_WITHIN_MS });
  const reasons = new Map<string, number>();
  for (const { id, status, reason = "", outputs } of executions) {
    if (status !== "complete") {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      findings.check(reason !== "", `Execution ${id} is ${status} without a reason`);
      continue;
    }
    const shown = JSON.stringify(await served.api(`executions/${id}/`));
    findings.check(outputs.length === 2, `An execution has ${outputs.length} outputs: ${shown}`);
    for (const { path, size, sha256 } of outputs) {
      const found = await bytesOf(served, `executions/${id}/outputs/${path}`);
      const isWhole = found.size === size && found.sha256 === sha256;
      findings.check(isWhole, `Output ${path} of ${id} has ${found.size} bytes, not ${size}`);
    }
    const log = await bytesOf(served, `executions/${id}/log/`);
    findings.check(log.text.includes("ended"), `The log of ${id} lacks its end: ${log.text}`);
  }
  const complete = executions.filter(({ status }) => status === "complete").length;
  findings.say(`${complete} of ${executions.length} executions complete`);
  for (const [reason, count] of reasons) findings.say(`${count} ended: ${reason}`);
}

async function bytesOf(served: Served, path: string) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const bytes = await (await fetch(`${served.url}/api/v0/${path}`, { headers })).bytes();
  return {
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    text: new TextDecoder().decode(bytes.subarray(0, 10_000)),
  };
}
