/**
 * The schema of pod templates.
 *
 * @module
 */
import { z } from "zod";
import { AGENT, MAIN } from "./pod_template.ts";

const named = z.looseObject({ name: z.string().min(1).max(63) });
/** Fields of a container that Hooklaunch runs a program in. */
const OWN_FIELDS = ["command", "args", "stdin", "tty", "lifecycle", "restartPolicy"];
/** Fields of a pod by which its processes would mix with others, or run twice. */
const OWN_POD_FIELDS = ["hostPID", "shareProcessNamespace", "restartPolicy"];

/** A pod template in a project's settings. */
export const podTemplateSchema = z.strictObject({
  metadata: z.strictObject({
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }).optional(),
  spec: z.looseObject({
    containers: z.array(named).max(20).optional(),
    initContainers: z.array(named).max(20).optional(),
  }).optional(),
}).check(({ value: { spec = {} }, issues }) => {
  const refuse = (path: (string | number)[], message: string) =>
    issues.push({ code: "custom", input: spec, path: ["spec", ...path], message });
  for (const field of OWN_POD_FIELDS) {
    if (field in spec) {
      refuse([field], "Hooklaunch sets this field: expected a template without it");
    }
  }
  for (const list of ["containers", "initContainers"] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      if (![MAIN, AGENT].includes(container.name)) continue;
      for (const field of OWN_FIELDS) {
        if (field in container) {
          refuse([list, index, field], "Hooklaunch sets this field of its containers");
        }
      }
    }
  }
}).describe(
  "Parts of a pod that are merged into those of the jobs. The command's container is \"main\", the agent's init " +
    'container "hooklaunch"; other names add containers',
);
