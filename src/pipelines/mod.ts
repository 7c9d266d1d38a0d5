/**
 * Pipelines: their plans, and the running ones.
 *
 * @module
 */
export { Pipelines } from "./pipelines.ts";
export { planPipeline, planProblems, type PlanRequest, refusedNodes, setPayload } from "./plan.ts";
