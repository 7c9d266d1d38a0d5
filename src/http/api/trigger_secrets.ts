/**
 * `/api/v0/triggers/<id>/secrets/`: the secrets of a trigger, without their texts.
 *
 * @module
 */
import { z } from "zod";
import { type ListedSecret, SECRET_KINDS, SECRET_STATES } from "../../triggers/list_secrets.ts";
import { answer, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";

/** The secrets of a trigger. */
export interface TriggerSecrets {
  secrets: ListedSecret[];
}

const triggerSecrets = answer<TriggerSecrets>()(
  "TriggerSecrets",
  z.object({
    secrets: z.array(z.object({
      pointer: text.describe("A JSON Pointer into the trigger"),
      name: text.exactOptional().describe(
        "The name that it was given; else that of its variable or file; absent without one",
      ),
      kind: z.enum(SECRET_KINDS).describe(
        "`stored`, encrypted, in the trigger; `variable` and `file` of the service, where it is read",
      ),
      source: text.exactOptional().describe("The variable, or the path of the file"),
      fingerprint: text.exactOptional().describe(
        "Tells it from the trigger's other secrets; absent where it cannot be read. The same secret has " +
          "another one in another trigger",
      ),
      until: time.exactOptional().describe("From then on it matches nothing"),
      state: z.enum(SECRET_STATES).describe(
        "`missing` where the variable is not set or the file cannot be read; `locked` where the service has " +
          "another key than the one that encrypted it",
      ),
    })),
  }),
);

/** The operation that lists the secrets of a trigger. */
export const secretOperations = [
  operation({
    id: "listTriggerSecrets",
    method: "get",
    path: "/triggers/{id}/secrets/",
    summary: "List the secrets of a trigger, without their texts",
    description:
      "Those of its conditions, handshakes and actions, in the order in which they stand in the trigger, whether " +
      "they are stored, or in variables or files of the service. A fingerprint is keyed: nobody finds the secret " +
      "by trying.",
    answers: { 200: { schema: triggerSecrets } },
    async perform({ api, context, params: { id } }) {
      return context.json({ secrets: await found("trigger", id, api.triggers.secretsOf(id)) });
    },
  }),
];
