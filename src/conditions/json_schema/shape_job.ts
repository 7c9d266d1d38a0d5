/**
 * The shape of a body, found in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import { launchRequest } from "../request.ts";
import { bodyValue } from "./judge.ts";
import { type Shape, shapeOf } from "./shape.ts";

interface ShapeInput extends JobInput {
  contentType: string;
}

/** Heavy work that finds the shapes of bodies. */
export type ShapeWork = Pick<HeavyWork<{ shape: () => Promise<typeof shapeJob> }>, "run">;

/** Returns the shape of a body; undefined where it is neither JSON nor a form. */
export function shapeJob({ bytes, contentType }: ShapeInput): Shape | undefined {
  const request = launchRequest({
    method: "POST",
    url: "",
    remoteIp: "",
    receivedAt_ms: 0,
    headers: new Headers({ "content-type": contentType }),
    query: new URLSearchParams(),
    body: bytes,
  });
  const body = request.parsedBody();
  return body.kind === "other" ? undefined : shapeOf(bodyValue(body));
}
