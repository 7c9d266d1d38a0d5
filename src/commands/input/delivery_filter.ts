/**
 * The options that find deliveries.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";

/** The filter of deliveries, as options hold it. */
export interface DeliveryFilterOptions {
  trigger?: string;
  outcome?: string;
  condition?: string;
  from?: string;
  to?: string;
  deliveryId?: string;
  text?: string;
  dead?: boolean;
}

/** Adds the options that find deliveries to a command. */
export function deliveryFilter(command: Command, outcomes: readonly string[]): Command {
  return command
    .option("--trigger <name>", "only those of this trigger, by name or id")
    .addOption(new Option("--outcome <outcome>", "only those with this outcome").choices(outcomes))
    .option("--condition <type>", "only those that this has refused, such as hmac")
    .option(
      "--from <time>",
      "only those of this time or later, such as 2026-11-24T08:00:00Z or 2h",
      since,
    )
    .option("--to <time>", "only those before this time", since)
    .option("--delivery-id <id>", "only those with this id of the sender")
    .option("--text <text>", "only those with this text in an id or in a body that is kept")
    .option("--dead", "only those of which something has failed, and nothing tries it again");
}

/** Returns the filter as the API has it. */
export function filterOf(options: DeliveryFilterOptions): Record<string, string> {
  const { trigger, outcome, condition, from, to, deliveryId: delivery_id, text } = options;
  const dead = options.dead === true ? "true" : undefined;
  return Object.fromEntries(
    Object.entries({ trigger, outcome, condition, from, to, delivery_id, text, dead })
      .flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time, or how long it is over, such as `90m`, `2h` or `7d`. */
export function since(text: string): string {
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const time_ms = count === undefined
    ? Date.parse(text)
    : Date.now() - Number(count) * (UNITS_MS[unit] ?? 0);
  if (!Number.isNaN(time_ms)) return new Date(time_ms).toISOString();
  throw new InvalidArgumentError(
    "Expected a date and time, such as 2027-01-31T09:30:00Z, or how long it is over, such as 2h.",
  );
}
