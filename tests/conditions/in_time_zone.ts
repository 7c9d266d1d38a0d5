/**
 * A process in a time zone of its own, that of `TZ`: says why a filter with each of some expressions
 * refuses a body, as a list in JSON. The environment is one for all tests that run at the same time.
 *
 * @module
 */
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import { checkOnce, json } from "./fixture.ts";

const { body, expressions } = JSON.parse(Deno.args[0] ?? "");
const reasons: (string | null)[] = [];
for (const expression of expressions) {
  const refusal = await checkOnce(payloadFilter, { expression }, json(body));
  reasons.push(refusal?.reason ?? null);
}
console.log(JSON.stringify({ hour: new Date(0).getHours(), reasons }));
