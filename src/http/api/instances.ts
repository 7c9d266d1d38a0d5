/**
 * `/api/v0/instances/`: the instances of the service.
 *
 * @module
 */
import { z } from "zod";
import { differencesOf } from "../../store/commit/instance_record.ts";
import type { Store } from "../../store/store.ts";
import { answer, page, text, time } from "./answer.ts";
import { operation } from "./operation.ts";
import { pageAnswer } from "./page_answer.ts";

/** An instance as the API shows it. */
export interface ShownInstance {
  id: string;
  leads: boolean;
  /** The address at which the other instances reach it. */
  url?: string;
  started_at: string;
  seconds_silent: number;
  clock_ahead_ms?: number;
  /** The version of its program; absent where an earlier one does not tell it. */
  version?: string;
  /** The reason why it accepts no launches now; absent where it accepts them. */
  obstacle?: string;
  /** The differences from the leader: `version`, and settings by their names. */
  differs?: string[];
}

const instance = answer<ShownInstance>()(
  "Instance",
  z.object({
    id: text,
    leads: z.boolean().describe("It performs the work and makes operators' changes"),
    url: text.exactOptional().describe("Where the other instances reach it"),
    started_at: time,
    seconds_silent: z.number().describe("Since it was seen to be alive"),
    clock_ahead_ms: z.number().exactOptional()
      .describe("How far its clock is ahead of the leader's; absent while that is not known"),
    version: text.exactOptional().describe("The version of its program"),
    obstacle: text.exactOptional().describe("Why it accepts no launches now"),
    differs: z.array(text).exactOptional().describe(
      "What differs from the leader: `version`, and settings by their flags or variables",
    ),
  }),
);

/** The operations below `/instances/`. */
export const instanceOperations = [
  operation({
    id: "listInstances",
    method: "get",
    path: "/instances/",
    scope: "read",
    summary: "List the instances that share the database",
    description: "With the database in the data folder there are none.",
    answers: { 200: { schema: page(instance) } },
    perform({ api, context }) {
      return pageAnswer(context, api.baseUrl(), shownInstances(api.store), undefined);
    },
  }),
];

function shownInstances({ shared }: Store): ShownInstance[] {
  const all = shared?.instances.all ?? [];
  const leader = all.find(({ isLeader }) => isLeader);
  return all.map((instance) => {
    const { id, isLeader, url, started_at, silent_ms, ahead_ms, version, obstacle } = instance;
    const differs = leader === undefined ? [] : differencesOf(instance, leader);
    return {
      id,
      leads: isLeader,
      ...(url === undefined ? {} : { url }),
      started_at,
      seconds_silent: silent_ms / 1_000,
      ...(ahead_ms === undefined ? {} : { clock_ahead_ms: Math.round(ahead_ms) }),
      ...(version === undefined ? {} : { version }),
      ...(obstacle === undefined ? {} : { obstacle }),
      ...(differs.length === 0 ? {} : { differs }),
    };
  });
}
