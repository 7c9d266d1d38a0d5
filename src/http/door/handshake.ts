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

type Handler = (context: SendersContext) => Promise<Response>;

/**
 * Makes the handler of requests by other methods than POST. `Allow` names the methods that are not answered 405, so
 * it tells nobody more than a request by each of them does.
 *
 * @param launch answers 405
 */
export function handshakeHandler(door: Door, route: string, launch: Handler): Handler {
  const handle = intakeHandler(door, {
    route,
    methods: METHODS,
    isDelivery: false,
    readsOnly: true,
    answersWhileClosing: false,
    order: ({ handshake, launch }) => handshake ?? launch,
    answer: (prepared, request) => answerHandshake(door, prepared, request),
  });
  return async (context) => {
    const methods = await handshakeMethods(door, context);
    if (methods.includes(context.req.raw.method)) return await handle(context);
    const answer = await launch(context);
    answer.headers.set("allow", [...methods, "POST"].join(", "));
    return answer;
  };
}

/** Returns the methods of a trigger's handshakes, but for POST. */
async function handshakeMethods(door: Door, context: SendersContext): Promise<string[]> {
  const id = context.req.param("trigger_id") ?? "";
  if (!isId(id) || !door.peerOf(context).secure) return [];
  const { triggers, databaseDeadline, store: { shared } } = door;
  if (shared) await databaseDeadline.read(shared.triggers.sync());
  const found = triggers.prepared(id);
  const prepared = await (found instanceof Promise ? databaseDeadline.read(found) : found);
  return METHODS.filter((method) => prepared?.handshakeMethods.has(method));
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
