/**
 * The check of a body against a schema in the Worker for heavy work.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import type { Refusal } from "../check.ts";
import type { CredentialField } from "../field.ts";
import { launchRequest } from "../request.ts";
import { judgeBody } from "./judge.ts";
import type { Schema } from "./keywords.ts";
import { type CompiledSchema, compileSchema } from "./validator.ts";

const KEPT_MAX = 100;

interface SchemaInput extends JobInput {
  /** The schema as JSON. */
  schema: string;
  credentials: readonly CredentialField[];
  headers: [name: string, value: string][];
  query: string;
}

/** Heavy work that checks bodies against schemas. */
export type SchemaWork = Pick<HeavyWork<{ schema: () => Promise<typeof schemaJob> }>, "run">;

/** The schemas that were used last. */
const kept = new Map<string, CompiledSchema>();

/** Checks a body against a schema; returns undefined where it matches. */
export function schemaJob(
  { schema, bytes, headers, query, credentials }: SchemaInput,
): Refusal | undefined {
  const written: Schema = JSON.parse(schema);
  const compiled = kept.get(schema) ?? compileSchema(written);
  kept.delete(schema);
  kept.set(schema, compiled);
  evictOldest(kept, KEPT_MAX);
  const request = launchRequest({
    // No schema reads these.
    method: "POST",
    url: "",
    remoteIp: "",
    receivedAt_ms: 0,
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    body: bytes,
  });
  return judgeBody(compiled, request, credentials);
}
