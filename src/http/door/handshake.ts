/**
 * Handshakes by another method than POST at a launch URL. A trigger without one answers 405.
 *
 * @module
 */
import { HANDSHAKE_METHODS } from "../../conditions/handshake/row.ts";
import { isId } from "../../platform/ids.ts";
import { NO_CONDITION } from "../../triggers/order.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { methodNotAllowed } from "../problem.ts";
import type { Door } from "./door.ts";
import type { IncomingRequest } from "./incoming_request.ts";
import { responseOf } from "./response.ts";
import { inspectLogged, noteHandshake, refuse } from "./refusal.ts";
import { intakeHandler, type SendersContext } from "./request_intake.ts";

const METHODS: readonly string[] = HANDSHAKE_METHODS.filter((method) => method !== "POST");

/** Makes the handler of handshakes, which returns undefined for a request that can be none. */
export function handshakeHandler(
  door: Door,
  route: string,
): (context: SendersContext) => Promise<Response | undefined> {
  const handle = intakeHandler(door, {
    route,
    methods: METHODS,
    isDelivery: false,
    readsOnly: true,
    answersWhileClosing: false,
    order: ({ handshake, launch }) => handshake ?? launch,
    answer: (prepared, request) => answerHandshake(door, prepared, request),
  });
  return async (context) => await hasHandshake(door, context) ? await handle(context) : undefined;
}

/** Tells whether a trigger has a handshake of the request's method. */
async function hasHandshake(door: Door, context: SendersContext): Promise<boolean> {
  const { method } = context.req.raw;
  const id = context.req.param("trigger_id") ?? "";
  if (!METHODS.includes(method) || !isId(id) || !door.peerOf(context).secure) return false;
  const { triggers, databaseDeadline, store: { shared } } = door;
  if (shared) await databaseDeadline.read(shared.triggers.sync());
  const found = triggers.prepared(id);
  const prepared = await (found instanceof Promise ? databaseDeadline.read(found) : found);
  return prepared?.handshakeMethods.has(method) === true;
}

async function answerHandshake(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
): Promise<Response> {
  // It may have been changed since.
  if (!prepared.handshake) return methodNotAllowed("POST");
  const inspection = await inspectLogged(door, prepared, prepared.handshake, request);
  if ("answer" in inspection) {
    noteHandshake(door, prepared, request, inspection);
    return responseOf(inspection.answer);
  }
  const none = { condition: "handshake", index: NO_CONDITION, reason: "No handshake" } as const;
  return refuse(door, prepared, request, "refused" in inspection ? inspection.refused : none);
}
