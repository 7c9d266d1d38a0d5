/**
 * Pipelines: their plans, and the running ones.
 *
 * @module
 */
export { dryLaunch, dryRun, EDGE_URL, launchBeforeEdges } from "./dry_run.ts";
export { newPipeline } from "./new_pipeline.ts";
export { setParameters } from "./parameters.ts";
export { Pipelines } from "./pipelines.ts";
export { planPipeline, planProblems, type PlanRequest, refusedNodes, setPayload } from "./plan.ts";
export { copyPipeline, retryPipeline, type StartAgainParts } from "./start_again.ts";
