/**
 * A trigger on a hosted service, and its launches.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { HMAC_CONDITION, signature } from "../data.ts";
import { eventually } from "../surroundings.ts";
import type { HostedProcess } from "./platform.ts";

/** A trigger that sends an HTTP request to a server of the tests. */
export function relay(port: number): Record<string, unknown> {
  return {
    name: "relay",
    project: "relays",
    conditions: [HMAC_CONDITION],
    actions: [{
      type: "http_request",
      url: `http://127.0.0.1:${port}/hook`,
      body: { hello: "{body.name}", run: "{run_id}" },
      private_networks: true,
    }],
    response: { type: "json", json: { run: "{run_id}" } },
  };
}

/** Makes a project and a trigger; returns the path of its launch URL. */
export async function makeTrigger(
  process: HostedProcess,
  trigger: Record<string, unknown>,
): Promise<string> {
  const project = {
    name: "relays",
    repository: "https://git.example.com/relays.git",
  };
  const put = await process.api("PUT", "projects/relays/", project);
  assert([200, 201].includes(put.status), JSON.stringify(put.body));
  const made = await process.api("POST", "triggers/", trigger);
  assertEquals(made.status, 201, JSON.stringify(made.body));
  return `/api/v0/launch/${made.body.id}/`;
}

/** Launches a trigger, and again while the platform has no instance that serves, as senders do. */
export function launchUntilAccepted(
  process: Pick<HostedProcess, "fetch">,
  path: string,
  name: string,
): Promise<string> {
  const body = JSON.stringify({ name });
  const headers = { ...signature(body), "content-type": "application/json" };
  return eventually(async () => {
    const answer = await process.fetch(path, { method: "POST", body, headers });
    const text = await answer.text();
    if (answer.status === 503) return undefined;
    assertEquals(answer.status, 200, text);
    return JSON.parse(text).run;
  }, { what: `the acceptance of ${name}` });
}
