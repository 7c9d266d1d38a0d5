/**
 * Projects: their code, from a git repository or a plain folder, and their project configuration files.
 *
 * @module
 */
export { findPipeline, findStep, readConfigFile } from "./config_file.ts";
export { evaluate, parseExpression, valueAt } from "./expression.ts";
export { fileOfUrl, type Launch, launchStep } from "./launch.ts";
export { overrideStep } from "./override.ts";
export type { NodeAction, PipelineNode } from "./pipeline.ts";
export { nodesInCircles } from "./pipeline_circle.ts";
export { edgeProblem, inputsNamed } from "./pipeline_edge_check.ts";
export { quoted } from "./quoted.ts";
export { type Step, stepOf } from "./step.ts";
export { Projects, type ProjectsOptions, type ResolvedCommit } from "./projects.ts";
