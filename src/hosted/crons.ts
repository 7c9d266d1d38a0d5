/**
 * The crons of a hosted service. A platform finds them where they are registered before the server starts, so this
 * module is imported first, and imports nothing.
 *
 * @module
 */

/** The crons, by name. */
const CRONS = {
  sweep: "* * * * *",
  cleanup: "17 * * * *",
};

/** A cron of a hosted service. */
export type CronName = keyof typeof CRONS;

let onCron: (name: CronName) => Promise<void> = () => Promise.resolve();

/** Sets what a cron does. */
export function setOnCron(act: (name: CronName) => Promise<void>): void {
  onCron = act;
}

// A Deno without it is told of at /readyz.
if (typeof Deno.cron === "function") {
  // No retries: the schedule repeats each.
  Deno.cron("sweep", CRONS.sweep, { backoffSchedule: [] }, () => onCron("sweep"));
  Deno.cron("cleanup", CRONS.cleanup, { backoffSchedule: [] }, () => onCron("cleanup"));
}
