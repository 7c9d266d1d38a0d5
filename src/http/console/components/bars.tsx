/** The deliveries of 24 hours as bars. */
import type { ActiveHour } from "../../api/activity.ts";
import type { Html } from "../route.ts";

const BAR = 6;
const HEIGHT = 24;

/** The numbers of some hours together. */
export interface Totals {
  accepted: number;
  filtered: number;
  refused: number;
  failed: number;
}

/** Adds up hours. Repeats are accepted ones, and those turned away are refused ones. */
export function totalsOf(hours: readonly ActiveHour[]): Totals {
  return hours.reduce<Totals>(({ accepted, filtered, refused, failed }, hour) => {
    const { deliveries: counts, failed_executions = 0 } = hour;
    return {
      accepted: accepted + (counts.accepted ?? 0) + (counts.repeat ?? 0),
      filtered: filtered + (counts.filtered ?? 0),
      refused: refused + (counts.refused ?? 0) + (counts.unavailable ?? 0),
      failed: failed + failed_executions,
    };
  }, { accepted: 0, filtered: 0, refused: 0, failed: 0 });
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
      {each.map((totals, index) => <Bar totals={totals} index={index} most={most} />)}
    </svg>
  );
}

function Bar({ totals, index, most }: { totals: Totals; index: number; most: number }): Html {
  let top = HEIGHT;
  const part = (count: number, kind: string) => {
    if (count === 0) return null;
    const height = Math.max(1.5, count / most * (HEIGHT - 1));
    top -= height;
    return (
      <rect
        class={kind}
        x={index * BAR}
        y={Math.max(0, top).toFixed(1)}
        width={BAR - 1}
        height={height.toFixed(1)}
      />
    );
  };
  if (sumOf(totals) === 0) {
    return <rect class="none" x={index * BAR} y={HEIGHT - 1} width={BAR - 1} height={1} />;
  }
  return (
    <g>
      {part(totals.accepted, "accepted")}
      {part(totals.filtered, "filtered")}
      {part(totals.refused, "refused")}
    </g>
  );
}

function sumOf({ accepted, filtered, refused }: Totals): number {
  return accepted + filtered + refused;
}
