/**
 * Pipelines: planning them, and those that are under way.
 *
 * @module
 */
export { Pipelines } from "./pipelines.ts";
export { planPipeline, planProblems, type PlanRequest, setPayload } from "./plan.ts";
