/**
 * Changes of a trigger on real instances: an operator numbers its response, and launches read the number. A launch is
 * answered by the newest version of its trigger, at any instance.
 *
 * @module
 */
import { pause } from "./findings.ts";
import type { History } from "./history.ts";
import { OPERATOR, type Served } from "./served.ts";

const READERS = 3;
/** The least pause between two requests of a client: launches that meet a change commit again. */
const PAUSE_MS = 200;
const ADDED_WITHIN_MS = 60_000;

interface ChangesOptions {
  serving: readonly Served[];
  history: History;
  /** After so long another instance is asked. */
  answer_ms: number;
  /** The pause of other senders. */
  pause_ms: number;
  goesOn: () => boolean;
}

/** Adds a trigger, and changes and launches it until it is told to end. */
export async function changes(options: ChangesOptions): Promise<void> {
  const { serving, history, answer_ms, goesOn } = options;
  const [first] = serving;
  if (first === undefined) return;
  const settings = {
    name: "changed",
    project: "p",
    actions: [{ type: "run_execution", step: "mark", payload_input_name: "body" }],
    response: response(0),
  };
  const created = await asked(`${first.url}/api/v0/triggers/`, {
    // No other instance can add it.
    answer_ms: ADDED_WITHIN_MS,
    method: "POST",
    body: JSON.stringify(settings),
  });
  if (created === undefined) throw new Error("A trigger was not added");
  const { id: key } = JSON.parse(created);
  const operation = { model: "version", key } as const;
  const now_ms = performance.now();
  const when = { sent_ms: now_ms, answered_ms: now_ms };
  history.add({ client: 0, ...operation, kind: "write", outcome: "ok", value: "0", ...when });
  // Each goes to another instance with each request.
  const client = async (client: number, path: string, method: string) => {
    for (let count = 1; goesOn(); count++) {
      const url = `${serving[(client + count) % serving.length]?.url}/api/v0/${path}/${key}/`;
      const body = method === "PATCH"
        ? JSON.stringify({ response: response(count) })
        : `changed ${client}.${count}`;
      const sent_ms = performance.now();
      const text = await asked(url, { answer_ms, method, body });
      const answered_ms = performance.now();
      const [kind, value] = method === "PATCH" ? ["write", String(count)] as const : [
        "read",
        text ?? "",
      ] as const;
      const outcome = text === undefined ? "unknown" : "ok";
      history.add({ client, ...operation, kind, outcome, value, sent_ms, answered_ms });
      await pause(Math.max(PAUSE_MS, options.pause_ms));
    }
  };
  await Promise.all([
    client(0, "triggers", "PATCH"),
    ...Array.from({ length: READERS }, (_, index) => client(index + 1, "launch", "POST")),
  ]);
}

const response = (version: number) => ({ type: "text", text: String(version) });

/** Asks an instance, and returns its answer; undefined when what was asked may have been done, or not. */
async function asked(
  url: string,
  { answer_ms, method, body }: { answer_ms: number; method: string; body: string },
): Promise<string | undefined> {
  try {
    const answer = await fetch(url, {
      method,
      body,
      headers: { ...OPERATOR, "content-type": "application/json" },
      signal: AbortSignal.timeout(answer_ms),
    });
    const text = await answer.text();
    return answer.ok ? text : undefined;
  } catch {
    return undefined;
  }
}
