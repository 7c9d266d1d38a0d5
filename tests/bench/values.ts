/**
 * Launches of triggers whose actions hold values of the request, beside the same triggers without values.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { launchLoad, times } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { STEP } from "./project.ts";
import { OPERATORS_TOKEN, triggerId } from "./requests.ts";
import { type Server, serverOn, settled } from "./servers.ts";
import { atLeast } from "./table.ts";

const TRIGGERS = 100;
const VALUES = 10;
const CONNECTIONS = 32;
/** The runs of a load end within this time. */
const SETTLED_WITHIN_MS = 120_000;

/** Measures launches with values against launches without, and how soon the runs of each have ended. */
export async function measureValues(bench: Bench): Promise<void> {
  const kind = { connections: CONNECTIONS, triggers: TRIGGERS };
  const measure = async (environment: Record<string, string>) => {
    await using server = await serverOn(bench, "service", "triggers");
    await giveEnvironment(server, environment);
    const load = await launchLoad(bench, server, kind);
    const began_ms = performance.now();
    const isSettled = await settled(server.port, SETTLED_WITHIN_MS);
    return { ...load, settled_ms: isSettled ? performance.now() - began_ms : Infinity };
  };
  const names = Array.from({ length: VALUES }, (_, index) => `VALUE_${index}`);
  const { values, texts } = await inTurn(bench.rounds, {
    values: () => measure(Object.fromEntries(names.map((name) => [name, "{body.action}"]))),
    texts: () => measure(Object.fromEntries(names.map((name) => [name, "opened"]))),
  });
  bench.add(atLeast(0.75, {
    what: `accepted launches, ${TRIGGERS} triggers with ${VALUES} values each, ` +
      `${CONNECTIONS} connections`,
    unit: "/s",
    value: values.per_second,
    floor: texts.per_second,
    floor_what: "the same with texts in their place",
    detail: `${times(values)}; all runs ended ${seconds(values.settled_ms)} after the load, ` +
      `with texts ${seconds(texts.settled_ms)}`,
  }));
}

async function giveEnvironment(
  { port }: Server,
  environment: Record<string, string>,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${OPERATORS_TOKEN}`,
    "content-type": "application/json",
  };
  const actions = [{ type: "run_execution", step: STEP, payload_input_name: "body", environment }];
  for (let index = 0; index < TRIGGERS; index++) {
    const url = `http://127.0.0.1:${port}/api/v0/triggers/${triggerId(index)}/`;
    const body = JSON.stringify({ actions });
    const answer = await fetch(url, { method: "PATCH", headers, body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`A trigger could not be changed: ${answer.status} ${text}`);
  }
}

function seconds(time_ms: number): string {
  return `${(time_ms / 1_000).toFixed(1)} s`;
}
