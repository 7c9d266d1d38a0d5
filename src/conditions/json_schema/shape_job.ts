/**
 * The shape of a body, found in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import { type RequestInput, requestInWorker } from "../worker_request.ts";
import { bodyValue } from "./judge.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** Heavy work that finds the shapes of bodies. */
export type ShapeWork = Pick<HeavyWork<{ shape: () => Promise<typeof shapeJob> }>, "run">;

/** Returns the shape of a body; undefined where it is neither JSON nor a form. */
export function shapeJob(input: RequestInput): Shape | undefined {
  const body = requestInWorker(input).parsedBody();
  return body.kind === "other" ? undefined : shapeOf(bodyValue(body));
}
