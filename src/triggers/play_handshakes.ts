/**
 * Playing the provider: each handshake of a trigger is made and answered, without the network. Nothing is logged,
 * and no secret leaves the service.
 *
 * @module
 */
import type { PreparedHandshake } from "../conditions/handshake/prepare.ts";
import { launchRequest } from "../conditions/request.ts";
import { signRequest } from "../conditions/sign_request.ts";
import { inspect } from "./order.ts";
import type { PreparedTrigger } from "./prepare.ts";

/** A handshake that was played. */
export interface PlayedHandshake {
  /** Its place in the trigger, or the provider of a condition's preset. */
  handshake: string;
  method: string;
  answered: boolean;
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The reason why it was not answered. */
  reason?: string;
}

/** The surroundings of a play. */
interface PlayOptions {
  baseUrl: string;
  now_ms: number;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/** Advice for a handshake that the provider alone can make. */
const LET_IT =
  "Set the URL at the provider, or let it check the URL again, and read the trigger log";

/** Plays every handshake of a trigger. */
export async function playHandshakes(
  prepared: PreparedTrigger,
  options: PlayOptions,
): Promise<PlayedHandshake[]> {
  const played: PlayedHandshake[] = [];
  for (const each of prepared.handshakes) played.push(await play(each, prepared, options));
  return played;
}

async function play(
  handshake: PreparedHandshake,
  { trigger, conditions, launch, handshake: otherOrder }: PreparedTrigger,
  { baseUrl, now_ms, env }: PlayOptions,
): Promise<PlayedHandshake> {
  const { name, row: { method, verified, confirm }, problem } = handshake;
  const not = (reason: string) => ({ handshake: name, method, answered: false, reason });
  if (problem !== undefined) return not(problem);
  if (confirm) return not(`the provider's own URL is fetched before it is answered. ${LET_IT}`);
  const { query, headers, body } = handshake.example(
    `hooklaunch${crypto.randomUUID().slice(0, 8)}`,
  );
  const text = query.size === 0 ? "" : `?${query}`;
  const unsigned = {
    method,
    url: `${baseUrl}/api/v0/launch/${trigger.id}/${text}`,
    headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
    body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
    now_ms,
    env,
  };
  const signed = verified ? await signRequest(conditions, unsigned) : undefined;
  const { url, ...sent } = signed ?? unsigned;
  const request = launchRequest({
    method,
    url,
    query: new URL(url).searchParams,
    headers: new Headers(sent.headers),
    body: sent.body,
    remoteIp: "127.0.0.1",
    receivedAt_ms: now_ms,
  });
  const inspection = await inspect(method === "POST" ? launch : otherOrder ?? launch, request);
  if ("answer" in inspection) {
    const { status, contentType, body, headers } = inspection.answer;
    return {
      handshake: inspection.handshake,
      method,
      answered: true,
      status,
      headers: { ...headers, "content-type": contentType },
      body,
    };
  }
  if ("refused" in inspection) {
    const { reason } = inspection.refused;
    const lacksKey = signed?.problems.some(({ pointer }) =>
      conditions[Number(pointer.slice(1))]?.type === "signature"
    );
    return not(lacksKey ? `${reason}: the provider signs with its own key. ${LET_IT}` : reason);
  }
  return not("its `when` does not tell how to make the request: send one with the provider");
}
