/**
 * `/api/v0/audit/`: the changes that operators made.
 *
 * @module
 */
import { z } from "zod";
import { listNewest } from "../../store/read/lists.ts";
import type { AuditEntry } from "../../store/records/audit.ts";
import { answer, page, text, time } from "./answer.ts";
import { operation } from "./operation.ts";
import { authorSchema } from "./origins.ts";
import { pageAnswer } from "./page_answer.ts";
import { auditQuery } from "./queries.ts";
import { search } from "./search.ts";

const entry = answer<AuditEntry>()(
  "AuditEntry",
  z.object({
    id: text,
    time,
    author: authorSchema,
    remote_ip: text.describe("Empty for what was applied at start"),
    operation: text.describe("The operationId of the request"),
    path: text,
    changes: z.array(z.object({
      pointer: text.describe("A JSON Pointer into the record"),
      before: z.unknown().exactOptional().describe(
        "Absent when there was none; secrets are masked",
      ),
      after: z.unknown().exactOptional().describe("Absent when there is none; secrets are masked"),
    })),
  }),
);

/** The operations below `/audit/`. */
export const auditOperations = [
  operation({
    id: "listAudit",
    method: "get",
    path: "/audit/",
    scope: "admin",
    summary: "List the changes that operators made, newest first",
    description: "With a filter, a page may hold fewer than `limit`: follow `next` to the end.",
    query: auditQuery,
    answers: { 200: { schema: page(entry) } },
    async perform({ api, context, query: { limit, cursor, operation } }) {
      const { records, next } = await search<AuditEntry>(
        (part) => listNewest<AuditEntry>(api.store, ["audit"], part),
        { limit, cursor, filters: { operation } },
      );
      return pageAnswer(context, api.baseUrl(), records, next);
    },
  }),
];
