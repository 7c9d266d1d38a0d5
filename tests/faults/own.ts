/**
 * A trigger whose runs are performed by the instances that accepted them: each sends one request, at least once, and
 * never two of them for one run.
 *
 * @module
 */
import type { Run } from "../../src/store/records/runs.ts";
import { type Receiver, startReceiver } from "../http/receiver.ts";
import { eventually } from "../surroundings.ts";
import type { Findings } from "./findings.ts";
import type { Served } from "./served.ts";
import type { TriggerSettings } from "./workshop.ts";

/** Requests that have not ended end within this time: an attempt of another instance is waited for. */
const ENDS_WITHIN_MS = 120_000;
const PATH = "/own";

export const OWN = "01900000-0000-7000-8000-000000000022";

/** Makes the trigger, and the server that its requests go to. */
export function ownTrigger(): { receiver: Receiver; trigger: TriggerSettings } {
  const receiver = startReceiver();
  receiver.on(PATH, () => new Response("taken"));
  const action = {
    type: "http_request",
    url: `http://127.0.0.1:${receiver.port}${PATH}`,
    headers: { "x-run": "{run_id}" },
    private_networks: true,
    timeout: 5,
    retry: { attempts: 20, first: 1, factor: 1 },
  };
  return { receiver, trigger: { id: OWN, name: "own", actions: [action] } };
}

/** Waits until all requests have ended, and checks that each run has sent its own. */
export async function checkOwn(
  findings: Findings,
  { served, receiver }: { served: Served; receiver: Receiver },
): Promise<void> {
  const runs: Run[] = await served.all(`runs/?trigger=${OWN}&limit=200`);
  for (const { id, status, actions } of runs) {
    const [{ created } = {}] = actions;
    const made = created && "http_request_id" in created ? created.http_request_id : "none";
    findings.check(status === "completed", `Run ${id} is ${status}: ${JSON.stringify(actions)}`);
    const request = await eventually(async () => {
      const found = await served.api(`${served.url}/api/v0/http-requests/${made}/`);
      return found.ended_at === undefined ? undefined : found;
    }, { within_ms: ENDS_WITHIN_MS }).catch(() => undefined);
    const sent = receiver.at(PATH).filter(({ headers }) => headers.get("x-run") === id);
    const keys = new Set(sent.map(({ headers }) => headers.get("idempotency-key")));
    findings.check(
      request?.status === "complete" && keys.size === 1 && keys.has(made),
      `Request ${made} of run ${id} is ${request?.status}; sent were ${[...keys].join(", ")}`,
    );
  }
  findings.say(`${runs.length} runs of requests, ${receiver.at(PATH).length} attempts`);
  findings.check(runs.length > 0, "No run has sent a request");
}
