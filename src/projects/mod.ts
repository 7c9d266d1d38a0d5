/**
 * Projects: their code, from git repositories and plain folders, and their project configuration
 * files.
 *
 * @module
 */
export {
  findPipeline,
  findStep,
  type ProjectConfig,
  readConfigFile,
} from "./format/config_file.ts";
export { evaluate, parseExpression, valueAt } from "./format/expression.ts";
export {
  fileOfUrl,
  type Launch,
  type LaunchOptions,
  launchProblems,
  launchStep,
} from "./launch.ts";
export {
  kindInWords,
  type KnownValue,
  type Outcome,
  PendingValue,
} from "./format/step/pending_value.ts";
export { VARIABLE_NAME } from "./format/step/input.ts";
export { overrideStep } from "./format/step/override.ts";
export type { NodeAction, PipelineNode } from "./format/pipeline/pipeline.ts";
export { nodesInCycles } from "./format/pipeline/cycle.ts";
export { edgeProblem, inputsNamed } from "./format/pipeline/edge_rules.ts";
export { type Step, stepOf } from "./format/step/step.ts";
export type { Projects } from "./projects.ts";
export type { ResolvedCommit } from "./configured_code.ts";
