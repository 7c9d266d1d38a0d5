/**
 * Triggers, steps and projects at their limits. A new attacker is one more entry of the list.
 *
 * @module
 */
import { CONFIG_FLAGS } from "../surroundings.ts";

/** What attacks the service. */
export interface Attacker {
  /** Completes "launches beside …". */
  name: string;
  /** The text of its project's `valohai.yaml`. */
  project: string;
  /** Its trigger, but for the name and the project. */
  trigger: Record<string, unknown>;
  /** Begins the attack, which goes on until it is disposed of. */
  begin(target: Target): Promise<AsyncDisposable>;
}

/** What an attacker is given. */
export interface Target {
  /** The launch URL of its trigger. */
  url: string;
  /** Starts a process that does not outlive the benchmark. */
  spawn(command: string, options: Deno.CommandOptions): Deno.ChildProcess;
}

const STEP = { type: "run_execution", step: "it" };
const IDLE = step("true");

/** All attackers. */
export const ATTACKERS: readonly Attacker[] = [
  {
    name: "two steps that print as fast as they can",
    project: step("exec yes"),
    trigger: { actions: [STEP, STEP] },
    async begin({ url }) {
      await (await fetch(url, { method: "POST" })).body?.cancel();
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    },
  },
  {
    name: "steps that print empty lines and objects, and write files",
    project: step(
      "yes '' | head -c 64000000; yes '{}' | head -c 64000000; " +
        "head -c 64000000 /dev/zero >$VH_OUTPUTS_DIR/large",
    ),
    trigger: { actions: [STEP, STEP] },
    begin: (target) => send(target, { connections: 1, pause_ms: 4_000, body: "empty" }),
  },
  {
    name: "a filter over 900,000 numbers",
    project: IDLE,
    trigger: {
      conditions: [{ type: "payload_filter", expression: "body.list.exists(n, n < 0)" }],
      actions: [STEP],
    },
    begin: (target) => send(target, { connections: 2, body: "numbers" }),
  },
  {
    name: "bodies of 16 MiB with wrong signatures",
    project: IDLE,
    trigger: {
      conditions: [{
        type: "hmac",
        preset: "standard_webhooks",
        secrets: Array.from({ length: 8 }, (_, index) => `whsec_${btoa(`secret ${index} of it`)}`),
      }],
      actions: [STEP],
    },
    begin: (target) => send(target, { connections: 15, body: "wrongly_signed" }),
  },
  {
    name: "a valohai.yaml of 1 MiB",
    project: largeProject(),
    trigger: { actions: [STEP] },
    begin: (target) => send(target, { connections: 1, pause_ms: 500, body: "empty" }),
  },
];

/** What a process of its own sends, again and again. See `attacker_process.ts`. */
export interface Sending {
  connections: number;
  /** The pause of each connection after an answer. */
  pause_ms?: number;
  body: "empty" | "numbers" | "wrongly_signed";
}

function send({ url, spawn }: Target, sending: Sending): Promise<AsyncDisposable> {
  const script = new URL("attacker_process.ts", import.meta.url).pathname;
  const child = spawn(Deno.execPath(), {
    args: ["run", ...CONFIG_FLAGS, "--allow-net", script, url, JSON.stringify(sending)],
    stdin: "null",
    stdout: "null",
  });
  return Promise.resolve({
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
    },
  });
}

function step(command: string): string {
  return JSON.stringify([{ step: { name: "it", image: "none", command } }]);
}

/** A project configuration file in YAML, of 1 MiB. */
function largeProject(): string {
  const steps = ["- step: { name: it, image: none, command: 'true' }\n"];
  for (let index = 0, length = 0; length < 1024 * 1024; index++) {
    const text = `- step:\n    name: step-${index}\n    image: none\n    command: echo ${index}\n` +
      "    inputs:\n      - name: data\n        default: https://example.com/data.csv\n";
    steps.push(text);
    length += text.length;
  }
  return steps.join("");
}
