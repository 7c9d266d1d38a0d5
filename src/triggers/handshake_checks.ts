/**
 * The checks that a trigger's handshakes bring.
 *
 * @module
 */
import { whenPartsRead } from "../platform/waiting/pending.ts";
import type { Refusal } from "../conditions/check.ts";
import type { PreparedHandshake } from "../conditions/handshake/prepare.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { truncate } from "../platform/text/display.ts";
import { type BodyCheck, type HandshakeStep, NO_CONDITION } from "./checks.ts";

const EXPECTED_CHARACTERS_MAX = 200;

/** Answers the first handshake that a request is, of those of its method. */
export function handshakeStep(handshakes: readonly PreparedHandshake[]): HandshakeStep[] {
  if (handshakes.length === 0) return [];
  return [{
    async answer(request) {
      for (const handshake of handshakes) {
        if (handshake.row.method !== request.method) continue;
        const reply = await whenPartsRead(() => handshake.answer(request));
        if (reply) return reply;
      }
      return undefined;
    },
  }];
}

/** Refuses what is no handshake, and says which of that method there are. */
export function noHandshakeCheck(handshakes: readonly PreparedHandshake[]): BodyCheck {
  const look = ({ method }: LaunchRequest): Refusal => {
    const known = handshakes.filter(({ row }) => row.method === method);
    const faults = known.flatMap(({ name, problem }) => problem ? [`${name}: ${problem}`] : []);
    const expected = known.map(({ row }) => row.when ?? "the values of its response").join(", or ");
    return {
      reason: ["The request is no handshake of the trigger", ...faults].join("; "),
      expected: truncate(expected, EXPECTED_CHARACTERS_MAX),
    };
  };
  return { condition: "handshake", index: NO_CONDITION, look };
}
