/**
 * Sends requests to a launch URL until it is killed. Arguments: the URL, and a {@linkcode Sending} as JSON.
 *
 * @module
 */
import type { Sending } from "./attackers.ts";

const [url = "", settings = "{}"] = Deno.args;
// `attackers.ts` starts this with what it needs.
const { connections, pause_ms = 0, body: kind }: Sending = JSON.parse(settings);
const LARGE_BYTES = 16 * 1024 * 1024 - 1024;
const PAUSE_AFTER_ERROR_MS = 100;

const bodies: Record<Sending["body"], () => Uint8Array<ArrayBuffer>> = {
  empty: () => new Uint8Array(0),
  numbers: () => new TextEncoder().encode(`{"list":[${new Array(900_000).fill(1).join()}]}`),
  wrongly_signed: () => new Uint8Array(LARGE_BYTES).fill(0x20),
};
const body = bodies[kind]();

await Promise.all(Array.from({ length: connections }, sendAgainAndAgain));

async function sendAgainAndAgain(): Promise<void> {
  for (;;) {
    try {
      const answer = await fetch(url, { method: "POST", headers: headers(), body });
      await answer.body?.cancel();
      await pause(pause_ms);
    } catch {
      await pause(PAUSE_AFTER_ERROR_MS);
    }
  }
}

function headers(): Record<string, string> {
  const json = { "content-type": "application/json" };
  if (kind !== "wrongly_signed") return json;
  const signatures = Array.from({ length: 8 }, () => {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    return `v1,${bytes.toBase64()}`;
  });
  return {
    ...json,
    "webhook-id": crypto.randomUUID(),
    "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
    "webhook-signature": signatures.join(" "),
  };
}

function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}
