/**
 * `hooklaunch demo`: the main job, shown on a bundled project and trigger: a signed webhook comes in,
 * an execution runs, and the sender asks how it went.
 *
 * @module
 */
import type { Command } from "commander";
import { dirname, join } from "node:path";
import { systemClock } from "../clock.ts";
import { hmac, sign } from "../conditions/hmac.ts";
import { applyConfig } from "../config/apply.ts";
import { parseConfig } from "../config/document.ts";
import { localTarget } from "../config/local_target.ts";
import { HooklaunchError } from "../errors.ts";
import { type Parts, Service } from "../service.ts";
import { getExecution, hasEnded } from "../store/executions.ts";
import { getRun } from "../store/runs.ts";
import type { Trigger } from "../trigger/trigger.ts";
import { setUpLogging } from "./logging.ts";
import { environment, option, wholeNumber } from "./options.ts";
import { runUntilStopped } from "./serve.ts";
import config from "../demo/hooklaunch.yaml" with { type: "text" };
import greet from "../demo/greet.sh" with { type: "text" };
import payload from "../demo/issues_opened.json" with { type: "text" };
import project from "../demo/valohai.yaml" with { type: "text" };

const WAIT_MS_MAX = 30_000;
const POLL_MS = 20;

/** The demo did not show what it should have shown. */
class DemoError extends HooklaunchError {
  override readonly code = "demo_failed";
}

/** Defines the command. */
export function defineDemo(command: Command): void {
  command
    .addOption(
      option("--port <number>", "port to listen on, 0 for any free one")
        .argParser(wholeNumber(0, 65_535)).default(8000),
    )
    .option("--once", "show it once and end, instead of serving on")
    .action(demo);
}

async function demo({ port, once = false }: { port: number; once?: boolean }): Promise<void> {
  await setUpLogging({ format: "text", level: "warning" });
  const folder = await Deno.makeTempDir({ prefix: "hooklaunch-demo-" });
  try {
    const secret = crypto.getRandomValues(new Uint8Array(16)).toHex();
    const service = await start(folder, once ? 0 : port, secret);
    try {
      const trigger = await show(service, secret);
      if (once) return;
      console.log(
        `\nServing on ${service.url} until Ctrl-C. Try it yourself, in another terminal:\n`,
      );
      console.log(curlLine(service, trigger, secret));
    } catch (error) {
      await service.close();
      throw error;
    } finally {
      if (once) await service.close();
    }
    await runUntilStopped(service);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function start(folder: string, port: number, secret: string): Promise<Service> {
  const files = {
    "hooklaunch.yaml": config,
    "project/valohai.yaml": project,
    "project/greet.sh": greet,
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  const settings = {
    host: "127.0.0.1",
    port,
    data: join(folder, "data"),
    trustedProxies: [],
    dev: true,
    payloadBytesMax: 16 * 1024 * 1024,
    retention_days: 1,
    executionsMax: 2,
    stopTimeout_ms: 5_000,
  };
  const env = (name: string) => name === "DEMO_SECRET" ? secret : environment(name);
  return await Service.start(settings, { clock: systemClock, env }, async ({ store, triggers }) => {
    const document = parseConfig(config, join(folder, "hooklaunch.yaml"));
    await applyConfig(document, localTarget(store, triggers));
  });
}

/** Sends the webhook, follows the run, and prints what the step printed. */
async function show(service: Service, secret: string): Promise<Trigger> {
  const { triggers: [trigger] } = await service.parts.triggers.list({ limit: 1 });
  if (trigger === undefined) throw new DemoError("The demo's trigger is not there");
  const url = `${service.url}/api/v0/launch/${trigger.id}/`;
  console.log(
    `Sending a GitHub "issues" event of ${payload.length} characters, signed, to\n  ${url}`,
  );
  const answer = await send(url, payload, trigger, secret, "application/json");
  console.log(`Answer: ${answer.status} ${answer.text}`);
  const runId = expectText(JSON.parse(answer.text).run, "a run id in the answer");

  // A run is over in milliseconds, so the poll may come too late to see it pending: its record tells.
  const form = "application/x-www-form-urlencoded";
  const polled = await send(`${url}run/`, `run_id=${runId}&wait=30`, trigger, secret, form);
  const info = JSON.parse(polled.text);
  const run = await getRun(service.parts.store, runId);
  console.log(`Run ${runId}: pending from ${run?.created_at}`);
  console.log(`Run ${runId}: ${info.status} at ${run?.ended_at} ${JSON.stringify(info.result)}`);
  if (info.status !== "completed") throw new DemoError(`The run ended as ${info.status}`);
  const executionId = expectText(info.result[0]?.execution_id, "an execution in the result");
  await showExecution(service.parts, executionId);
  return trigger;
}

async function showExecution(parts: Parts, id: string): Promise<void> {
  const until_ms = parts.clock.steady() + WAIT_MS_MAX;
  let execution = await getExecution(parts.store, id);
  while (execution === undefined || !hasEnded(execution.status)) {
    if (parts.clock.steady() > until_ms) throw new DemoError(`Execution ${id} does not end`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    execution = await getExecution(parts.store, id);
  }
  const { lines } = await parts.engines.of("local").log(id);
  console.log(`Execution ${id}: ${execution.status}, and its step "${execution.step}" printed:\n`);
  for (const { stream, message } of lines) {
    if (stream !== "event") console.log(`  | ${message}`);
  }
  if (execution.status !== "complete") {
    throw new DemoError(`Execution ${id} ended as ${execution.status}: ${execution.reason}`);
  }
  if (!lines.some(({ message }) => message.includes("Retrain on the labels of batch 7"))) {
    throw new DemoError("The step did not print the issue's title");
  }
}

async function send(url: string, body: string, trigger: Trigger, secret: string, type: string) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const settings = hmac.schema.parse(trigger.conditions.find(({ type }) => type === "hmac"));
  const signature = sign(settings, secret, { body: new TextEncoder().encode(body), timestamp });
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": type,
      "x-timestamp": timestamp,
      "x-signature": signature,
      "x-github-event": "issues",
    },
    body,
  });
  const text = await response.text();
  if (!response.ok) throw new DemoError(`${url} answered ${response.status}: ${text}`);
  return { status: response.status, text };
}

/** A shell line that does what the demo did. */
function curlLine({ url }: Service, { id }: Trigger, secret: string): string {
  return [
    `body='{"action": "opened", "issue": {"title": "Hello from my terminal"}}'; ts=$(date +%s)`,
    `sig=$(printf '%s.%s' "$ts" "$body" | openssl dgst -sha256 -hmac ${secret} -r | cut -d ' ' -f 1)`,
    `curl -sS ${url}/api/v0/launch/${id}/ -H "X-Timestamp: $ts" ` +
    `-H "X-Signature: sha256=$sig" -H 'Content-Type: application/json' -d "$body"`,
  ].join(" && \\\n") + "\n";
}

function expectText(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new DemoError(`Expected ${what}, found ${JSON.stringify(value)}`);
}
