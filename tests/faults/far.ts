/**
 * Triggers whose commands run at a cluster, or on any of the machines: each runs once, what it has printed is in its
 * log once, and what it has saved comes back from the artifact store.
 *
 * @module
 */
import type { Execution } from "../../src/store/records/executions.ts";
import { eventually } from "../surroundings.ts";
import type { Findings } from "./findings.ts";
import { OPERATOR, type Served } from "./served.ts";
import { FAR_PROJECT, PRINTED, type TriggerSettings, type Workshop } from "./workshop.ts";

/** Of executions that have not ended, one ends after so long at most. */
const ENDS_WITHIN_MS = 600_000;

const actions = [{ type: "run_execution", step: "output" }];

export const FAR_TRIGGER: TriggerSettings = {
  id: "01900000-0000-7000-8000-000000000021",
  name: "far",
  project: FAR_PROJECT,
  actions,
};
export const NEAR_TRIGGER: TriggerSettings = {
  id: "01900000-0000-7000-8000-000000000023",
  name: "near",
  actions,
};

/** Waits until all executions have ended, and checks that each command ran once, with its log and its output. */
export async function checkOutputs(
  findings: Findings,
  { served, shop, trigger }: { served: Served; shop: Workshop; trigger: TriggerSettings },
): Promise<void> {
  const list = `executions/?trigger=${trigger.id}&limit=200`;
  let executions: Execution[] = [];
  for (let open = Infinity, before = Infinity; open > 0; before = open) {
    const isLess = eventually(async () => {
      executions = await served.all(list);
      open = executions.filter(({ ended_at }) => ended_at === undefined).length;
      return open < before || undefined;
    }, { within_ms: ENDS_WITHIN_MS });
    // What does not end is told below.
    if (await isLess.catch(() => undefined) === undefined) break;
  }
  const marks = await shop.marks();
  for (const { id, status, reason } of executions) {
    const { results }: { results: { message: string; stream: string }[] } = await served.api(
      `executions/${id}/log?limit=200`,
    );
    if (status !== "complete") {
      const log = results.map(({ message }) => message).join("\n");
      findings.check(false, `Execution ${id} is ${status}: ${reason}\n${log}`);
    }
    const printed = results.filter(({ stream }) => stream === "stdout")
      .map(({ message }) => message).join();
    findings.check(printed === PRINTED.join(), `The log of ${id} is ${printed}`);
    const count = marks.get(id) ?? 0;
    findings.check(count === 1, `The command of ${id} ran ${count} times`);
    const path = `api/v0/executions/${id}/outputs/id`;
    const answer = await fetch(`${served.url}/${path}`, { headers: OPERATOR });
    const text = (await answer.text()).trim();
    findings.check(text === id, `The output of ${id} is ${answer.status} ${text}`);
  }
  findings.say(`${executions.length} executions of "${trigger.name}"`);
  findings.check(executions.length > 0, `Nothing ran for "${trigger.name}"`);
}
