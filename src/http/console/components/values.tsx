/** Values as pages show them: times, sizes, durations, ids. */
import type { Child } from "@hono/hono/jsx";
import type { Html } from "../route.ts";

const SHORT_ID_LENGTH = 8;
const UNITS = [[86_400, "d"], [3_600, "h"], [60, "min"]] as const;
const SIZES = [[1024 ** 3, "GiB"], [1024 ** 2, "MiB"], [1024, "KiB"]] as const;

/** A time, relative to now, with the exact one on hover. */
export function Time({ at, now_ms }: { at: string; now_ms: number }): Html {
  return (
    <time datetime={at} title={timeText(at)} data-relative>
      {ago(now_ms - Date.parse(at))}
    </time>
  );
}

/** Says when the retention has removed something. */
export function Removed({ at, now_ms }: { at: string; now_ms: number }): Html {
  return (
    <p class="dim">
      Removed <Time at={at} now_ms={now_ms} />, as the{" "}
      <a href="docs/settings/#retention">retention</a> says.
    </p>
  );
}

/** The time that something lasts, such as "for 12 min", with its beginning on hover. */
export function Lasting({ since, now_ms }: { since: string; now_ms: number }): Html {
  return (
    <>
      for{" "}
      <time datetime={since} title={timeText(since)} data-relative="lasting">
        {spanText(secondsOf(now_ms - Date.parse(since)))}
      </time>
    </>
  );
}

/** Writes a span in the past or, when negative, in the future. The script does the same as time goes by. */
function ago(span_ms: number): string {
  const span_s = secondsOf(span_ms);
  if (span_s < 5) return "now";
  const text = spanText(span_s);
  return span_ms < 0 ? `in ${text}` : `${text} ago`;
}

function secondsOf(span_ms: number): number {
  return Math.round(Math.abs(span_ms) / 1_000);
}

function timeText(at: string): string {
  return at.replace("T", " ").replace("Z", " UTC");
}

/** A duration with its unit. */
export function Duration({ ms }: { ms: number }): Html {
  return <span class="number">{durationText(ms)}</span>;
}

/** Writes a duration with its unit. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return spanText(Math.round(ms / 1_000));
}

function spanText(span_s: number): string {
  for (const [unit_s, unit] of UNITS) {
    if (span_s >= unit_s) return `${Math.floor(span_s / unit_s)} ${unit}`;
  }
  return `${span_s} s`;
}

/** Writes a span in the largest unit that it is a whole number of. */
export function exactSpanText(span_s: number): string {
  const [unit_s, unit] = UNITS.find(([each_s]) => span_s > 0 && span_s % each_s === 0) ?? [1, "s"];
  return `${span_s / unit_s} ${unit}`;
}

/** A number of bytes. */
export function Size({ bytes }: { bytes: number | undefined }): Html {
  return <span class="number">{bytes === undefined ? "–" : sizeText(bytes)}</span>;
}

/** Writes a number of bytes with its unit. */
export function sizeText(bytes: number): string {
  for (const [unit_bytes, unit] of SIZES) {
    if (bytes >= unit_bytes) return `${(bytes / unit_bytes).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

/** The end of an id, in lists. */
export function ShortId({ id }: { id: string }): Html {
  return <code title={id}>{id.slice(-SHORT_ID_LENGTH)}</code>;
}

/** A whole value with a button that copies it. */
export function Copied({ value, label }: { value: string; label: string }): Html {
  return (
    <span class="copied">
      <code>{value}</code>
      <button type="button" class="quiet" data-copy={value} aria-label={`Copy ${label}`}>
        Copy
      </button>
    </span>
  );
}

/** Facts as a list of names and values; those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, Child])[] }): Html {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
