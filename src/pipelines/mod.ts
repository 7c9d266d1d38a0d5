/**
 * Pipelines: planning them, and those that are under way.
 *
 * @module
 */
export { Pipelines } from "./pipelines.ts";
export { planPipeline, type PlanRequest, setPayload } from "./plan.ts";
