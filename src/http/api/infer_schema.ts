/**
 * A schema of what a trigger gets: `POST /api/v0/triggers/<id>/infer-schema/`.
 *
 * @module
 */
import { z } from "zod";
import { parseInput } from "../../platform/schema/nulls.ts";
import { type InferredSchema, inferSchema } from "../../triggers/infer_schema.ts";
import { answer, count, input, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";

const LAST_MAX = 200;
const LAST = 50;

const inferred = answer<InferredSchema>()(
  "InferredSchema",
  z.object({
    schema: z.union([z.boolean(), z.record(text, z.unknown())]).describe(
      "Draft 2020-12; `true` where no body is stored",
    ),
    requests: count.describe("The number of bodies that it is made of"),
    fields: z.array(z.object({ expression: text, types: z.array(text) })).describe(
      "The expressions by which filters and values read what came, and the types of their values",
    ),
    differences: z.array(z.object({
      delivery_id: text,
      time,
      reason: text,
      expected: text.exactOptional(),
      found: text.exactOptional(),
    })).describe("The newest deliveries that do not match the schema of those before them"),
  }),
);

const body = input(
  "InferSchemaInput",
  z.strictObject({
    last: z.int().min(1).max(LAST_MAX).optional().describe(
      `The number of newest requests; default: ${LAST}`,
    ),
  }),
);

/** The operation that makes a schema of stored bodies. */
export const inferSchemaOperations = [
  operation({
    id: "inferSchema",
    method: "post",
    path: "/triggers/{id}/infer-schema/",
    scope: "operate",
    isTrial: true,
    answeredBy: "any",
    summary: "Make a JSON Schema of the newest requests of a trigger",
    description:
      "With types, required properties, formats, and enums of few values, and the expressions that read its " +
      "fields. Stores nothing. Of the trigger's " +
      "deliveries, accepted ones are read, and filtered ones that are kept (`keep_refused`), with bodies of " +
      "at most 1 MiB, for 5 s at most.",
    body: { schema: body, examples: { "Of the last 50": { last: LAST } } },
    answers: { 200: { schema: inferred } },
    async perform({ api, records, context, params: { id }, body: sent }) {
      const { trigger } = await found("trigger", id, api.triggers.prepared(id));
      const { last = LAST } = parseInput(body, sent, "what to make a schema of");
      const requests = await records.recentRequests(trigger.id, last);
      return context.json(await inferSchema(requests, api.heavyWork));
    },
  }),
];
