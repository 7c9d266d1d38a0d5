/**
 * `deno task simulate [--pace|--own] [--runs N] [--seconds N] [--seed N] [--path P]`: simulates on as many schedules
 * as there is time for, a minute by default; with paces, over triggers whose runs wait for their turn; with own runs,
 * over those that the instances perform which have accepted them. With a path it repeats one schedule, and prints its
 * calls.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { check, describe } from "./check.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    path: { type: "string" },
    pace: { type: "boolean", default: false },
    own: { type: "boolean", default: false },
    runs: { type: "string", default: "1000000" },
  },
});

const checked = await check({
  runs: values.path === undefined ? Number(values.runs) : 1,
  isPaced: values.pace,
  isOwn: values.own,
  time_ms: Number(values.seconds) * 1_000,
  ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
  ...(values.path === undefined ? {} : { path: values.path }),
});
if (values.path !== undefined) console.log(checked.failure?.calls.join("\n") ?? "It holds");
const { runs, seed, accepted } = checked;
console.log(`${runs} schedules with ${accepted} accepted launches, seed ${seed}`);
if (checked.failure) {
  console.error(describe(checked));
  Deno.exit(1);
}
