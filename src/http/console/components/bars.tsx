/** The deliveries of 24 hours as bars. */
import type { ActiveHour } from "../../api/activity.ts";
import type { Html } from "../route.ts";

const BAR = 6;
const HEIGHT = 24;
/** The parts of a bar, from its bottom. */
const KINDS = ["accepted", "filtered", "refused"] as const;

/** The numbers of some hours together. */
export interface Totals {
  accepted: number;
  filtered: number;
  refused: number;
  failedExecutions: number;
  failedRuns: number;
}

/** Adds up hours. Repeats are accepted ones, and those turned away are refused ones. */
export function totalsOf(hours: readonly ActiveHour[]): Totals {
  return hours.reduce<Totals>(({ accepted, filtered, refused, ...failed }, hour) => {
    const { deliveries: counts, failed_executions = 0, failed_runs = 0 } = hour;
    return {
      accepted: accepted + (counts.accepted ?? 0) + (counts.repeat ?? 0),
      filtered: filtered + (counts.filtered ?? 0),
      refused: refused + (counts.refused ?? 0) + (counts.unavailable ?? 0),
      failedExecutions: failed.failedExecutions + failed_executions,
      failedRuns: failed.failedRuns + failed_runs,
    };
  }, { accepted: 0, filtered: 0, refused: 0, failedExecutions: 0, failedRuns: 0 });
}

/** One bar an hour: the accepted ones at the bottom, the filtered ones above, the refused ones on top. */
export function Bars({ hours }: { hours: readonly ActiveHour[] }): Html {
  const each = hours.map((hour) => totalsOf([hour]));
  const most = Math.max(1, ...each.map((totals) => sumOf(totals)));
  const { accepted, filtered, refused } = totalsOf(hours);
  return (
    <svg
      class="bars"
      role="img"
      aria-label={`${accepted} accepted, ${filtered} filtered, ${refused} refused in 24 hours`}
      width={hours.length * BAR}
      height={HEIGHT}
      viewBox={`0 0 ${hours.length * BAR} ${HEIGHT}`}
    >
      <path class="none" d={`M0 ${HEIGHT - 0.5}h${hours.length * BAR}`} />
      {KINDS.map((kind, level) => <path class={kind} d={bars(each, { level, most })} />)}
    </svg>
  );
}

/** Draws the parts of one kind as lines: short, as a page has fifty such charts. */
function bars(
  each: readonly Totals[],
  { level, most }: { level: number; most: number },
): string {
  return each.map((totals, index) => {
    const kind = KINDS[level];
    const count = kind === undefined ? 0 : totals[kind];
    if (count === 0) return "";
    const below = KINDS.slice(0, level).reduce(
      (sum, lower) => sum + heightOf(totals[lower], most),
      0,
    );
    const bottom = Math.max(1.5, HEIGHT - below);
    return `M${index * BAR + BAR / 2} ${round(bottom)}V${
      round(Math.max(0, bottom - heightOf(count, most)))
    }`;
  }).join("");
}

/** A part of a bar can be seen, however few it stands for. */
function heightOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(1.5, count / most * (HEIGHT - 1));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function sumOf({ accepted, filtered, refused }: Totals): number {
  return accepted + filtered + refused;
}
