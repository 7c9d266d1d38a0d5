/**
 * The check of a body against a schema in the Worker for heavy work.
 *
 * @module
 */
import { keepNewest } from "../../platform/evict_oldest.ts";
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { Refusal } from "../check.ts";
import type { CredentialField } from "../field.ts";
import { type RequestInput, requestInWorker } from "../worker_request.ts";
import { judgeBody } from "./judge.ts";
import type { Schema } from "./keywords.ts";
import { type CompiledSchema, compileSchema } from "./validator.ts";

const KEPT_MAX = 100;

interface SchemaInput extends RequestInput {
  /** The schema as JSON. */
  schema: string;
  credentials: readonly CredentialField[];
}

/** Heavy work that checks bodies against schemas. */
export type SchemaWork = Pick<HeavyWork<{ schema: () => Promise<typeof schemaJob> }>, "run">;

/** The schemas that were used last. */
const kept = new Map<string, CompiledSchema>();

/** Checks a body against a schema; returns undefined where it matches. */
export function schemaJob(
  { schema, credentials, ...request }: SchemaInput,
): Refusal | undefined {
  const compiled = keepNewest(kept, schema, {
    size_max: KEPT_MAX,
    make: () => compileSchema(read(schema)),
  });
  return judgeBody(compiled, requestInWorker(request), credentials);
}

function read(schema: string): Schema {
  return JSON.parse(schema);
}
