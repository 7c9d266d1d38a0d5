/**
 * The waits until the others have taken an instance for gone, and until it serves again.
 *
 * @module
 */
import { eventually } from "../surroundings.ts";
import { OPERATOR, type Served } from "./served.ts";

/** A frozen instance is taken for gone after 15 s, and later where those that look at it are slow. */
const GONE_WITHIN_MS = 120_000;

/** An instance serves again after so long at most, once what happened is over. */
const READY_WITHIN_MS = 60_000;
const READY_ANSWER_MS = 5_000;

/** Waits until the others have taken an instance for gone. */
export async function untilGone({ url: gone }: Served, serving: readonly Served[]): Promise<void> {
  const others = serving.filter(({ url }) => url !== gone);
  await eventually(async () => {
    // Nobody answers operators until another instance leads.
    const lists = await Promise.all(others.map(({ url }) => instancesAt(url).catch(() => [])));
    const isGone = (all: { url?: string }[]) =>
      all.length > 0 && all.every(({ url }) => url !== gone);
    return lists.some(isGone) || undefined;
  }, { what: "a frozen instance being taken for gone", within_ms: GONE_WITHIN_MS });
}

/** Waits until an instance serves again: one that goes on without the database hangs. */
export async function untilReady(served: Served): Promise<void> {
  const signal = () => AbortSignal.timeout(READY_ANSWER_MS);
  await eventually(async () => {
    if (served.hasEnded) return true;
    const answer = await fetch(`${served.url}/readyz`, { signal: signal() }).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.ok;
  }, { what: `that the instance at ${served.url} serves`, within_ms: READY_WITHIN_MS });
}

/** Returns the instances that one knows. */
async function instancesAt(url: string): Promise<{ url?: string }[]> {
  const answer = await fetch(`${url}/api/v0/instances/`, {
    headers: OPERATOR,
    // It may wait for a leader that is frozen.
    signal: AbortSignal.timeout(2_000),
  });
  return (await answer.json()).results ?? [];
}
