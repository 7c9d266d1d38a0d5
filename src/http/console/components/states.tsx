/** States in colour, with an icon and a word: colour alone says nothing to many. */
import { stateWord } from "../../../runs/state_word.ts";
import type { Html } from "../route.ts";

/** The meanings that colours have. */
export type Tone = "ok" | "quiet" | "bad" | "running" | "waiting";

export const ICONS: Readonly<Record<Tone, string>> = {
  ok: "✓",
  quiet: "–",
  bad: "✕",
  running: "▸",
  waiting: "…",
};

/** The meaning of each state of deliveries, runs, executions, pipelines and nodes. */
const TONES: Readonly<Record<string, Tone>> = {
  accepted: "ok",
  complete: "ok",
  completed: "ok",
  matches: "ok",
  passed: "ok",
  sent: "ok",
  repeat: "quiet",
  filtered: "quiet",
  stopped: "quiet",
  skipped: "quiet",
  possible: "quiet",
  "not reached": "quiet",
  refused: "bad",
  unavailable: "bad",
  error: "bad",
  failed: "bad",
  complete_with_error: "bad",
  started: "running",
  running: "running",
  sending: "running",
  stopping: "running",
  created: "waiting",
  queued: "waiting",
  pending: "waiting",
  waiting: "waiting",
  awaiting_approval: "waiting",
  likely: "waiting",
};

/** Returns the meaning of a state. */
export function toneOf(state: string): Tone {
  return TONES[state] ?? "quiet";
}

/** A state. */
export function State({ state }: { state: string }): Html {
  return <Badge tone={toneOf(state)} label={stateWord(state).replaceAll("_", " ")} />;
}

/** A word in colour, with an icon. */
export function Badge({ tone, label }: { tone: Tone; label: string }): Html {
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{ICONS[tone]}</span>
      {"\u00a0"}
      {label}
    </span>
  );
}
