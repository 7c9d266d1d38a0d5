/**
 * Measuring things in turn, and a few words that all parts need for it.
 *
 * @module
 */

/** Figures of one measurement, by their names. */
type Figures = Readonly<Record<string, number>>;

/**
 * Measures several things in turn, so many rounds, every other one backwards: the speed of a machine
 * drifts, and what is held against each other should have had the same.
 *
 * @returns the mean of each thing's figures
 */
export async function inTurn<Names extends string, Found extends Figures>(
  rounds: number,
  measures: Readonly<Record<Names, () => Promise<Found>>>,
): Promise<Record<Names, Found>> {
  // The names are the keys of the object itself.
  const names = Object.keys(measures) as Names[];
  const found = new Map<Names, Found[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      found.get(name)?.push(await measures[name]());
    }
  }
  const means = names.map((name) => [name, mean(found.get(name) ?? [])]);
  // Each name has what its measures found.
  return Object.fromEntries(means) as Record<Names, Found>;
}

/** The value that so great a share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

/** Waits. */
export function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}

/**
 * Runs a command to its end.
 *
 * @throws {Error} when it fails
 */
export async function run(command: string, args: string[], cwd?: string): Promise<void> {
  const options = cwd === undefined ? {} : { cwd };
  const { success, stderr } = await new Deno.Command(command, { args, ...options }).output();
  if (!success) throw new Error(`${command} failed: ${new TextDecoder().decode(stderr)}`);
}

function mean<Found extends Figures>(all: readonly Found[]): Found {
  const names = Object.keys(all[0] ?? {});
  const sums = names.map((name) => [
    name,
    all.reduce((sum, figures) => sum + (figures[name] ?? NaN), 0) / all.length,
  ]);
  return Object.fromEntries(sums);
}
