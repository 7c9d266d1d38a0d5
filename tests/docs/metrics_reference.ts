/**
 * The table of metrics, made from what a service shows.
 *
 * @module
 */
import { REFUSERS } from "../../src/conditions/kinds.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { watchNothing } from "../http/watch_nothing.ts";
import { table } from "./markdown.ts";

/** The labels of what is counted by trigger, of which a new service shows nothing. */
const BY_TRIGGER: Readonly<Record<string, string[]>> = {
  hooklaunch_trigger_refusals_total: ["trigger", "project", "condition"],
  hooklaunch_trigger_runs_total: ["trigger", "project", "status"],
  hooklaunch_trigger_executions_total: ["trigger", "project", "status"],
  hooklaunch_trigger_start_seconds: ["trigger", "project"],
  hooklaunch_trigger_work_seconds: ["trigger", "project"],
};

/** Writes every metric with its type, labels and meaning as Markdown. */
export async function metricsReference(): Promise<string> {
  const metrics = new Metrics(REFUSERS);
  watchNothing(metrics, () => Promise.resolve(undefined), () => Promise.resolve(["disk_full"]));
  const { body } = await metrics.text();
  const rows = [...body.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)/gm)].map(
    ([, name = "", help = "", type = ""]) => {
      const labels = BY_TRIGGER[name] ?? labelsIn(body, name);
      return [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(", "), help];
    },
  ).toSorted(([a = ""], [b = ""]) => a < b ? -1 : 1);
  return table(["metric", "type", "labels", "says"], rows);
}

/** Finds the labels of the first sample of a metric, but for the bound of a histogram. */
function labelsIn(body: string, name: string): string[] {
  const [, labels = ""] = new RegExp(`^${name}(?:_count)?{(.*)} `, "m").exec(body) ?? [];
  return [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label);
}
