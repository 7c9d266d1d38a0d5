/**
 * Project configuration files as JSON: a Worker reads a large one and passes it on as one text. To
 * pass on its objects one by one would take the receiver five times as long.
 *
 * @module
 */
import type { ProjectConfig } from "./config_file.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import type { Step } from "./step/step.ts";

/** Writes a project configuration file that was read as JSON. */
export function encodeConfig({ steps, pipelines, ...config }: ProjectConfig): string {
  return JSON.stringify({
    ...config,
    steps: Array.from(steps.values(), (step) => ({
      ...step,
      parameters: [...step.parameters],
      inputs: [...step.inputs],
      environmentVariables: [...step.environmentVariables],
    })),
    pipelines: Array.from(pipelines.values(), (pipeline) => ({
      ...pipeline,
      nodes: [...pipeline.nodes],
      parameters: [...pipeline.parameters],
    })),
    endpoints: [...config.endpoints],
    tasks: [...config.tasks],
  });
}

/** Reads what {@linkcode encodeConfig} has written. Fields that are undefined are absent. */
export function decodeConfig(json: string): ProjectConfig {
  const { steps, pipelines, endpoints, tasks, warnings } = JSON.parse(json);
  return {
    steps: byName(steps, (step: Step) => ({
      ...step,
      parameters: new Map(step.parameters),
      inputs: new Map(step.inputs),
      environmentVariables: new Map(step.environmentVariables),
    })),
    pipelines: byName(pipelines, (pipeline: Pipeline) => ({
      ...pipeline,
      nodes: new Map(pipeline.nodes),
      parameters: new Map(pipeline.parameters),
    })),
    endpoints: new Map(endpoints),
    tasks: new Map(tasks),
    warnings,
  };
}

/** @param items whose maps are lists of entries, of which a map is made as well */
function byName<T extends { name: string }>(items: T[], decode: (item: T) => T): Map<string, T> {
  return new Map(items.map((item) => [item.name, decode(item)]));
}
