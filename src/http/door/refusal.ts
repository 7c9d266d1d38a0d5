/**
 * Refusing a request: the owner reads why in the trigger log, and the sender gets the same answer
 * whatever refused it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { STATUS_CODE } from "@std/http/status";
import type { LaunchRequest } from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import {
  inspectBody,
  type Inspection,
  NO_CONDITION,
  type Order,
  type Refused,
} from "../../triggers/order.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { PART_BYTES_MIN } from "../body_stream.ts";
import { NOT_READ_ON, problem, rejected } from "../problem.ts";
import type { Door } from "./door.ts";
import { requestFacts, type SeenRequest } from "./launch_request.ts";

/** The refusal of a body that comes in more parts than its length explains. */
export const TOO_MANY_PARTS: Refused = {
  condition: "body_size",
  index: NO_CONDITION,
  reason: "The body comes in too many short parts",
  expected: `chunks of ${PART_BYTES_MIN} bytes or more`,
};

const log = getLogger(["hooklaunch", "http"]);

/**
 * Checks a request with its body. One that cannot be checked now is written into the trigger log too.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function inspectLogged(
  door: Door,
  prepared: PreparedTrigger,
  order: Order,
  request: LaunchRequest,
): Promise<Inspection> {
  try {
    return await inspectBody(order, request);
  } catch (error) {
    if (error instanceof UnavailableError) {
      const reason = `Answered 503: ${error.message}`;
      noteRefusal(door, prepared, request, { condition: "overload", index: NO_CONDITION, reason });
    }
    throw error;
  }
}

/** Logs a refusal and makes its answer. */
export function refuse(
  door: Door,
  prepared: PreparedTrigger,
  request: SeenRequest,
  refused: Refused,
): Response {
  noteRefusal(door, prepared, request, refused);
  return refused.condition === "body_size"
    ? problem(STATUS_CODE.ContentTooLarge, { headers: NOT_READ_ON })
    : rejected();
}

/** Writes a refusal into the trigger log. */
export function noteRefusal(
  door: Door,
  { trigger: { id, name }, credentials }: PreparedTrigger,
  request: SeenRequest,
  { index, ...refused }: Refused,
): void {
  door.metrics.refused(refused.condition);
  if (!door.triggerLog.hasRoom(id, "refused")) return;
  const { condition } = refused;
  log.debug("A request to trigger {trigger} was refused by {condition}", {
    trigger: name,
    condition,
  });
  door.triggerLog.add(id, {
    kind: "refused",
    ...refused,
    ...(index === NO_CONDITION ? {} : { condition_index: index }),
    request: requestFacts(request, credentials),
  });
}
