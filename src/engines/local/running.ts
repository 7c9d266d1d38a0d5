/**
 * What it takes to run executions. The engine loads it for the first one.
 *
 * @module
 */
export { ExecutionRun } from "./execution_run.ts";
export { RemoteFiles } from "./inputs/mod.ts";
export { runnerOf } from "./runners/mod.ts";
