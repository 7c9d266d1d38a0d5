/**
 * `deno task bench`: what the service does, held against floors that are measured in the same run, on
 * the same machine, a moment before. `--json` prints the figures alone.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import type { LoadResult, LoadSettings } from "./client.ts";

const SECRET = "the benchmark's secret";
const TRIGGER_ID = "01900000-0000-7000-8000-000000000001";
const DURATION_MS = 4_000;
const WARMUP_MS = 1_000;
const PAYLOAD_BYTES = 1_024;
const STARTS = 60;
const asJson = Deno.args.includes("--json");

/** One row of the table. */
interface Row {
  what: string;
  value: number;
  unit: string;
  detail?: string;
  /** The floor it is held against, and what share of it should be reached. */
  floor?: number;
  aim?: string;
}

const rows: Row[] = [];
const folder = await Deno.makeTempDir({ prefix: "hooklaunch-bench-" });
try {
  await configure();
  for (const connections of [32, 128]) await measureAcceptance(connections);
  await measureStarts();
} finally {
  await Deno.remove(folder, { recursive: true });
}
if (asJson) console.log(JSON.stringify(rows, null, 2));

async function configure(): Promise<void> {
  await Deno.mkdir(`${folder}/project`);
  const steps = [{
    step: {
      name: "clock",
      image: "none",
      command: "echo $EPOCHREALTIME",
      inputs: [{ name: "body" }],
    },
  }];
  await Deno.writeTextFile(`${folder}/project/valohai.yaml`, JSON.stringify(steps));
  await commitProject();
  const hmac = {
    type: "hmac",
    algorithm: "sha256",
    header: "X-Signature",
    prefix: "sha256=",
    secrets: [SECRET],
  };
  await Deno.writeTextFile(
    `${folder}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [{ name: "bench", repository: `${folder}/project` }],
      triggers: [{
        name: "bench",
        id: TRIGGER_ID,
        project: "bench",
        conditions: [hmac, { type: "rate_limit", period: 1, quota: 1_000_000 }],
        actions: [{ type: "run_execution", step: "clock", payload_input_name: "body" }],
        response: { type: "text", text: "{run_id}" },
      }],
    }),
  );
}

async function commitProject(): Promise<void> {
  const commands = [
    ["init", "--quiet", "--initial-branch=main"],
    ["add", "."],
    ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "x"],
  ];
  for (const args of commands) {
    const { success } = await new Deno.Command("git", { args, cwd: `${folder}/project` }).output();
    if (!success) throw new Error(`git ${args[0]} failed`);
  }
}

/** Accepted launches a second, and the floors: the same without storing, and storing alone. */
async function measureAcceptance(connections: number): Promise<void> {
  const request = launchRequest();
  const bare = await underLoad("without_storing", connections, request);
  const storing = await storingAlone(connections);
  const measured = await underLoad("service", connections, request);
  const floor = Math.min(bare.per_second, storing);
  const at = `${connections} connections`;
  add({ what: `without storing, ${at}`, value: bare.per_second, unit: "/s", detail: times(bare) });
  add({ what: `bare group commits of ${connections} launches`, value: storing, unit: "/s" });
  add({
    what: `accepted launches, ${at}`,
    value: measured.per_second,
    unit: "/s",
    detail: times(measured),
    floor,
    aim: "0.60",
  });
}

/** From acceptance to the command's own first look at the clock, against spawning that command. */
async function measureStarts(): Promise<void> {
  const spawns: number[] = [];
  for (let count = 0; count < STARTS; count++) {
    const began_ms = Date.now();
    const { stdout } = await new Deno.Command("bash", {
      args: ["-c", "echo $EPOCHREALTIME"],
    }).output();
    spawns.push(epoch_ms(new TextDecoder().decode(stdout)) - began_ms);
  }
  await using server = await startServer("real_engine");
  const starts: number[] = [];
  for (let count = 0; count < STARTS; count++) starts.push(await measureStart(server.port));
  const floor = quantile(spawns, 0.5);
  add({ what: "spawn of the command alone, p50", value: floor, unit: "ms" });
  for (const [name, share] of [["p50", 0.5], ["p99", 0.99]] as const) {
    const detail = `${
      (quantile(starts, share) - quantile(spawns, share)).toFixed(1)
    } ms over a spawn`;
    const what = `acceptance to command started, idle, ${name}`;
    add({ what, value: quantile(starts, share), unit: "ms", detail });
  }
}

async function measureStart(port: number): Promise<number> {
  const url = `http://127.0.0.1:${port}/api/v0`;
  const headers = { authorization: "Bearer an-operators-token-for-the-benchmark" };
  const body = "{}";
  const answer = await fetch(`${url}/launch/${TRIGGER_ID}/`, {
    method: "POST",
    headers: { "x-signature": sign(body) },
    body,
  });
  const runId = await answer.text();
  for (;;) {
    const run = await (await fetch(`${url}/runs/${runId}/`, { headers })).json();
    const id = run.actions[0]?.created.execution_id;
    const execution = id && await (await fetch(`${url}/executions/${id}/`, { headers })).json();
    if (execution?.status === "complete") {
      const log = await (await fetch(`${url}/executions/${id}/log/`, { headers })).json();
      const line = log.results.find(({ stream }: { stream: string }) => stream === "stdout");
      return epoch_ms(line.message) - Date.parse(run.created_at);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function underLoad(
  mode: string,
  connections: number,
  request: string,
): Promise<LoadResult> {
  await using server = await startServer(mode);
  const settings: LoadSettings = {
    port: server.port,
    connections,
    duration_ms: DURATION_MS,
    warmup_ms: WARMUP_MS,
    requests: [request],
    status: 200,
  };
  return JSON.parse(await runScript("client.ts", ["--allow-net"], [], JSON.stringify(settings)));
}

async function storingAlone(batch: number): Promise<number> {
  const data = await Deno.makeTempDir({ dir: folder });
  const args = [data, String(batch), String(PAYLOAD_BYTES), String(DURATION_MS)];
  return Number(await runScript("floor_kv.ts", ["--allow-read", "--allow-write"], args, ""));
}

/** Starts a server; at the end of its scope it stops, and its data is removed. */
async function startServer(mode: string): Promise<AsyncDisposable & { port: number }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", new URL("server.ts", import.meta.url).href, mode, folder],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await lines.read();
    if (done) throw new Error(`The server "${mode}" ended before it was ready`);
    text += value;
  }
  return {
    port: Number(text.replace("ready", "")),
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await lines.cancel();
      await child.status;
      await Deno.remove(`${folder}/data`, { recursive: true });
    },
  };
}

async function runScript(
  name: string,
  permissions: string[],
  args: string[],
  input: string,
): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...permissions, new URL(name, import.meta.url).href, ...args],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`${name} failed`);
  return new TextDecoder().decode(stdout);
}

function launchRequest(): string {
  const body = JSON.stringify({ action: "opened", pad: "x".repeat(PAYLOAD_BYTES - 29) });
  return [
    `POST /api/v0/launch/${TRIGGER_ID}/ HTTP/1.1`,
    "Host: localhost",
    "Content-Type: application/json",
    `X-Signature: ${sign(body)}`,
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

function sign(body: string): string {
  return `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
}

/** Bash's EPOCHREALTIME, seconds with a fraction, in milliseconds. */
function epoch_ms(text: string): number {
  return Number(text.trim().replace(",", ".")) * 1_000;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

function times({ p50_ms, p99_ms }: LoadResult): string {
  return `p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms`;
}

function add(row: Row): void {
  rows.push(row);
  if (asJson) return;
  const { what, value, unit, detail = "", floor, aim } = row;
  const figure = `${value >= 1_000 ? Math.round(value) : value.toFixed(1)} ${unit}`;
  const ratio = floor === undefined ? "" : `${(value / floor).toFixed(2)} of the floor, aim ${aim}`;
  console.log(
    [what.padEnd(48), figure.padStart(12), ratio.padEnd(28), detail].join("  ").trimEnd(),
  );
}
