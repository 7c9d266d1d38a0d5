/**
 * The configuration files that a running step finds, each as JSON and as YAML.
 *
 * @module
 */
import { join } from "node:path";
import { stringify } from "yaml";
import type { Execution } from "../../store/executions.ts";

/** The files by name, with their text. */
export function configFiles(execution: Execution, folder: string): Map<string, string> {
  const files = new Map<string, string>();
  const contents = {
    execution: aboutExecution(execution),
    inputs: aboutInputs(execution, folder),
    parameters: execution.parameters,
    runtime: aboutRuntime(execution),
    api: {},
  };
  for (const [name, content] of Object.entries(contents)) {
    files.set(`${name}.json`, `${JSON.stringify(content, null, 2)}\n`);
    // Most readers of YAML still follow 1.1, where an unquoted `yes` is a boolean.
    files.set(`${name}.yaml`, stringify(content, { version: "1.1", aliasDuplicateObjects: false }));
  }
  return files;
}

function aboutExecution(execution: Execution): Record<string, unknown> {
  return {
    "valohai.commit-identifier": execution.commit,
    "valohai.execution-ctime": execution.created_at,
    "valohai.execution-id": execution.id,
    "valohai.execution-image": execution.image,
    "valohai.execution-status": "created",
    "valohai.execution-step": execution.step,
    "valohai.execution-tags": [],
    "valohai.execution-title": execution.title,
    "valohai.project-id": execution.project,
    "valohai.project-name": execution.project,
    ...(execution.pipeline_id === undefined ? {} : {
      "valohai.pipeline-id": execution.pipeline_id,
      "valohai.pipeline-node-id": execution.node,
    }),
  };
}

function aboutInputs({ inputs }: Execution, folder: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(inputs).map(([input, files]) => [input, {
      input_id: input,
      files: files.map((file) => ({
        name: file.name,
        path: join(folder, "inputs", input, file.name),
        ...("size" in file ? { size: file.size } : {}),
      })),
    }]),
  );
}

function aboutRuntime({ time_limit, no_output_timeout }: Execution): Record<string, unknown> {
  return {
    runner: "process",
    time_limit: time_limit ?? null,
    no_output_timeout: no_output_timeout ?? null,
  };
}
