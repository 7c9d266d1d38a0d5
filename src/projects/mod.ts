/**
 * Projects: their code, from a git repository or a plain folder, and their project configuration files.
 *
 * @module
 */
export { findPipeline, findStep, type ProjectConfig, readConfigFile } from "./config_file.ts";
export { evaluate, type Expression, ExpressionError, parseExpression } from "./expression.ts";
export { fileOfUrl, type Launch, type LaunchOptions, launchStep } from "./launch.ts";
export { overrideStep } from "./override.ts";
export type {
  EdgeEnd,
  EdgeType,
  NodeAction,
  NodeEffect,
  OnError,
  Pipeline,
  PipelineEdge,
  PipelineNode,
  PipelineParameter,
} from "./pipeline.ts";
export { nodesInCircles } from "./pipeline_circle.ts";
export { quoted } from "./quoted.ts";
export { type Step, stepOf } from "./step.ts";
export {
  type FetchResult,
  Projects,
  type ProjectsOptions,
  type ResolvedCommit,
} from "./projects.ts";
