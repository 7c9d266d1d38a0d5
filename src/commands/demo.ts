/**
 * `hooklaunch demo`: shows the main job with a bundled project and trigger: a signed webhook comes in,
 * an execution or a pipeline runs, and the sender reads its result.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { delay } from "@std/async/delay";
import { type Command, Option } from "commander";
import { dirname, join } from "node:path";
import { systemClock } from "../platform/clock.ts";
import { signRequest } from "../conditions/sign_request.ts";
import { applyText } from "../config/apply_text.ts";
import { type DemoEngine, demoEngine, onEngine } from "../demo/engine.ts";
import { type Example, EXAMPLES } from "../demo/examples.ts";
import { ENGINE_TYPES } from "../engines/kinds.ts";
import { HooklaunchError, messageOf } from "../platform/errors.ts";
import { Service } from "../service/service.ts";
import { type Execution, getExecution, hasEnded } from "../store/records/executions.ts";
import { getPipeline } from "../store/records/pipelines.ts";
import { listTriggerRuns } from "../store/records/run_lists.ts";
import { getRun } from "../store/records/runs.ts";
import type { Trigger } from "../triggers/trigger.ts";
import { setUpLogging } from "./console/logging.ts";
import { agentOf, type AgentOptions, agentOptions } from "./input/agent_options.ts";
import { environment } from "./input/environment.ts";
import { option, wholeNumber } from "./input/options.ts";
import { runUntilStopped } from "./serve.ts";
import { onStopSignal } from "./process/stop_signals.ts";

const POLL_MS = 20;
const FOLLOW_MS = 300;

/** The demo did not reach its end. */
class DemoError extends HooklaunchError {
  override readonly code = "demo_failed";
}

interface DemoOptions extends AgentOptions {
  port: number;
  once?: boolean;
  example?: keyof typeof EXAMPLES;
  engine: string;
  engineSettings?: string;
}

/** A service with the project and the trigger of an example. */
interface Stage {
  service: Service;
  trigger: Trigger;
  secret: string;
  engine: DemoEngine;
}

/** Defines the command. */
export function defineDemo(command: Command): void {
  command
    .addOption(
      option("--port <number>", "port to listen on; 0 takes any free port")
        .argParser(wholeNumber(0, 65_535)).default(8000),
    )
    .addOption(
      new Option(
        "--example <name>",
        "an execution, or a pipeline that trains and tests a model (default: webhook; on a cluster pipeline)",
      ).choices(Object.keys(EXAMPLES)),
    )
    .addOption(
      option("--engine <type>", "where the steps run: this machine, or a cluster of yours")
        .choices(ENGINE_TYPES).default("local"),
    )
    .addOption(
      option(
        "--engine-settings <yaml>",
        "the cluster: what a project has as its engine, such as '{ namespace: ml }'",
      ),
    );
  for (const each of agentOptions()) command.addOption(each);
  command
    .option("--once", "end after one launch")
    .action(demo);
}

async function demo(options: DemoOptions): Promise<void> {
  await setUpLogging({ format: "text", level: "warning" });
  const { once = false } = options;
  const engine = demoEngine(options, await agentOf(options));
  const stop = new AbortController();
  // Then, too, its temporary folder is removed.
  using _listening = onStopSignal((name) => stop.abort(new DemoError(`Stopped by ${name}`)));
  const folder = await Deno.makeTempDir({ prefix: "hooklaunch-demo-" }).catch((error) => {
    throw new DemoError(`Cannot create a temporary folder, check TMPDIR: ${messageOf(error)}`);
  });
  const example = EXAMPLES[options.example ?? engine.example];
  // Jobs of a cluster come to the port that --agent-url names.
  const port = once && engine.isLocal ? 0 : options.port;
  try {
    const stage = await setUp(folder, port, { example, engine });
    const { service } = stage;
    try {
      await abortable(show(stage, example), stop.signal);
      if (once) return;
      console.log(
        `\nServing on ${service.url} until Ctrl-C. Try it in another terminal:\n`,
      );
      console.log(curlLine(stage, example));
      await Promise.all([runUntilStopped(service), showFurther(stage)]);
    } finally {
      await service.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function setUp(
  folder: string,
  port: number,
  { example, engine }: { example: Example; engine: DemoEngine },
): Promise<Stage> {
  for (const [name, text] of Object.entries(example.project)) {
    const path = join(folder, "project", name);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  const settings = {
    ...engine.exposure,
    port,
    data: join(folder, "data"),
    payloadBytesMax: 16 * 1024 * 1024,
    retention_days: 1,
    executionsMax: 2,
    stopTimeout_ms: 5_000,
  };
  const secret = crypto.getRandomValues(new Uint8Array(16)).toHex();
  const env = (name: string) => name === "DEMO_SECRET" ? secret : environment(name);
  const surroundings = { clock: systemClock, env };
  const service = await Service.start(settings, surroundings, async (parts) => {
    const config = onEngine(example.config, engine);
    await Array.fromAsync(applyText(config, join(folder, "hooklaunch.yaml"), parts));
  });
  const { records: [trigger] } = await service.parts.triggers.list({ limit: 1 });
  if (trigger === undefined) throw new DemoError("Cannot find the demo's trigger");
  return { service, trigger, secret, engine };
}

/** Sends the webhook, follows the run, and prints what the steps printed. */
async function show(stage: Stage, example: Example): Promise<void> {
  const { service: { url, parts }, trigger } = stage;
  const launchUrl = `${url}/api/v0/launch/${trigger.id}/`;
  const { sends, body, prints } = example;
  console.log(`Sending ${sends} of ${body.length} characters, signed, to\n  ${launchUrl}`);
  const answer = await send(stage, launchUrl, body, "application/json");
  console.log(`Answer: ${answer.status} ${answer.text}`);
  const runId = expectText(JSON.parse(answer.text).run, "a run id in the answer");

  // A run ends in milliseconds, and may not be pending any more here: its record has the times.
  const form = "application/x-www-form-urlencoded";
  const polled = await send(stage, `${launchUrl}run/`, `run_id=${runId}&wait=30`, form);
  const info = JSON.parse(polled.text);
  const run = await getRun(parts.store, runId);
  console.log(`Run ${runId}: pending from ${run?.created_at}`);
  console.log(`Run ${runId}: ${info.status} at ${run?.ended_at} ${JSON.stringify(info.result)}`);
  if (info.status !== "completed") throw new DemoError(`The run ended as ${info.status}`);
  const printed = await showCreated(stage, info.result[0] ?? {});
  if (!printed.includes(prints)) {
    throw new DemoError(`Expected a step to print "${prints}", found:\n${printed}`);
  }
}

/** Shows the result of each further launch, until the service stops. */
async function showFurther(stage: Stage): Promise<void> {
  const { service: { parts }, trigger } = stage;
  const { store, closing: { signal } } = parts;
  const newest = async () => (await listTriggerRuns(store, trigger.id, { limit: 20 })).records;
  try {
    const shown = new Set((await newest()).map(({ id }) => id));
    for (;;) {
      await delay(FOLLOW_MS, { signal });
      for (const { id, status, ended_at, actions } of (await newest()).reverse()) {
        if (shown.has(id)) continue;
        shown.add(id);
        console.log(`Run ${id}: ${status} at ${ended_at}`);
        await showCreated(stage, actions[0]?.created ?? {});
      }
    }
  } catch (error) {
    // A stopping service closes its database.
    if (!signal.aborted) console.error(`Cannot show further launches: ${messageOf(error)}`);
  }
}

/** Shows the object that an action created, and returns what its steps printed. */
function showCreated(
  stage: Stage,
  { execution_id, pipeline_id }: {
    execution_id?: string;
    pipeline_id?: string;
    http_request_id?: string;
  },
): Promise<string> {
  return pipeline_id === undefined
    ? showExecution(stage, expectText(execution_id, "an execution in the result"))
    : showPipeline(stage, pipeline_id);
}

/** Waits for a pipeline, and prints the states of its nodes and what their steps printed. */
async function showPipeline(stage: Stage, id: string): Promise<string> {
  const { store } = stage.service.parts;
  const shown = new Map<string, string>();
  const showWaiting = waitingShower();
  let printed = "";
  const pipeline = await eventually(stage, `Pipeline ${id}`, async () => {
    const found = await getPipeline(store, id);
    for (const { name, status, execution_id, reason = "" } of found?.nodes ?? []) {
      const execution = execution_id && await getExecution(store, execution_id);
      if (execution) showWaiting(execution);
      if (shown.get(name) === status) continue;
      shown.set(name, status);
      console.log(`Pipeline ${id}: node "${name}" is ${status} ${reason}`.trimEnd());
      const isOver = execution_id !== undefined && (status === "complete" || status === "error");
      if (isOver) printed += await showExecution(stage, execution_id);
    }
    return found?.ended_at === undefined ? undefined : found;
  });
  console.log(`Pipeline ${id}: ${pipeline.status} ${pipeline.reason ?? ""}`.trimEnd());
  if (pipeline.status !== "complete") {
    throw new DemoError(`Pipeline ${id} ended as ${pipeline.status}`);
  }
  return printed;
}

/** Waits for an execution, and prints and returns what its step printed. */
async function showExecution(stage: Stage, id: string): Promise<string> {
  const { store, engines } = stage.service.parts;
  const showWaiting = waitingShower();
  const execution = await eventually(stage, `Execution ${id}`, async () => {
    const found = await getExecution(store, id);
    if (found) showWaiting(found);
    return found && hasEnded(found.status) ? found : undefined;
  });
  const { lines } = await engines.of(execution.engine.type).log(id);
  const { status, step, reason, machine } = execution;
  const where = stage.engine.isLocal || machine === undefined ? "" : ` on ${machine}`;
  console.log(`Execution ${id}: ${status}${where}, and its step "${step}" printed:\n`);
  const printed = lines.filter(({ stream }) => stream !== "event").map(({ message }) => message);
  for (const line of printed) console.log(`  | ${line}`);
  console.log();
  if (status === "complete") return printed.join("\n");
  throw new DemoError(`Execution ${id} ended as ${status}: ${reason}`);
}

/** Returns what prints why executions wait, when that changes. */
function waitingShower(): (execution: Execution) => void {
  const shown = new Map<string, string>();
  return ({ id, waiting }) => {
    if (waiting === undefined || shown.get(id) === waiting) return;
    shown.set(id, waiting);
    console.log(`Execution ${id} waits: ${waiting}`);
  };
}

async function eventually<T>(
  { service: { parts: { clock } }, engine: { wait_ms } }: Stage,
  what: string,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const until_ms = clock.steady() + wait_ms;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (clock.steady() > until_ms) {
      throw new DemoError(`${what} did not end within ${wait_ms / 1_000} s`);
    }
    await delay(POLL_MS);
  }
}

async function send(
  { trigger, secret, engine: { headers: own } }: Stage,
  url: string,
  body: string,
  type: string,
) {
  const { headers } = await signRequest(trigger.conditions, {
    url,
    headers: { ...own, "content-type": type, "x-github-event": "issues" },
    body: new TextEncoder().encode(body),
    now_ms: systemClock.now(),
    env: () => secret,
  });
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new DemoError(`${url} answered ${response.status}: ${text}`);
  return { status: response.status, text };
}

/** Returns a shell command that sends what the demo sent. */
function curlLine(
  { service: { url }, trigger: { id }, secret, engine: { headers } }: Stage,
  { tryBody }: Example,
) {
  const own = Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}' `).join("");
  return [
    `body='${tryBody}'; ts=$(date +%s)`,
    `sig=$(printf '%s.%s' "$ts" "$body" | openssl dgst -sha256 -hmac ${secret} -r | cut -d ' ' -f 1)`,
    `curl -sS --noproxy '*' ${url}/api/v0/launch/${id}/ ${own}-H "X-Timestamp: $ts" ` +
    `-H "X-Signature: sha256=$sig" -H 'Content-Type: application/json' -d "$body"`,
  ].join(" && \\\n") + "\n";
}

function expectText(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new DemoError(`Expected ${what}, found ${JSON.stringify(value)}`);
}
