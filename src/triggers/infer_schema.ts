/**
 * A schema of what a trigger gets, from the bodies of its stored requests, and the newest ones that differ from
 * those before them.
 *
 * @module
 */
import type { Refusal } from "../conditions/check.ts";
import type { Schema } from "../conditions/json_schema/keywords.ts";
import type { SchemaWork } from "../conditions/json_schema/job.ts";
import { bodyFields, type Field, mapField } from "../conditions/json_schema/fields.ts";
import { mergeShapes, schemaOfShape, type Shape } from "../conditions/json_schema/shape.ts";
import type { ShapeWork } from "../conditions/json_schema/shape_job.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { requestInput } from "../conditions/worker_request.ts";
import type { RecentRequest } from "./recent_requests.ts";

/** The longest body that is read. */
const BODY_BYTES_MAX = 1024 * 1024;
/** The time after the first body, which may start the Worker, after which no further one is read. */
const READ_MS = 5_000;
const JOB_MS_MAX = 1_000;
/** The newest requests that are compared with those before them, of which there must be as many. */
const NEWEST_MAX = 10;
const OWNER = "schemas of stored bodies";

/** A delivery whose body differs from those before it. */
interface Difference extends Refusal {
  delivery_id: string;
  time: string;
}

/** A schema of stored bodies. */
export interface InferredSchema {
  schema: Schema;
  /** The number of bodies that it is made of. */
  requests: number;
  /** The expressions by which filters and values read what came. */
  fields: Field[];
  /** The newest deliveries that do not match the schema of those before them, newest first. */
  differences: Difference[];
}

/** A stored body, and its shape. */
interface Known {
  stored: RecentRequest;
  shape: Shape;
  request: LaunchRequest;
}

/** Makes a schema of stored requests, newest first. */
export async function inferSchema(
  requests: readonly RecentRequest[],
  heavyWork: ShapeWork & SchemaWork,
): Promise<InferredSchema> {
  const known = await shapesOf(requests, heavyWork);
  const newest = known.slice(0, Math.min(NEWEST_MAX, Math.floor(known.length / 2)));
  const before = known.slice(newest.length);
  const differences: Difference[] = [];
  if (newest.length > 0) {
    for (const one of newest) {
      const { id, time } = one.stored;
      const refusal = await differenceFrom(before, one, heavyWork);
      if (refusal) differences.push({ delivery_id: id, time, ...refusal });
    }
  }
  return { schema: schemaOf(known), requests: known.length, fields: fieldsOf(known), differences };
}

/** Returns where a body does not match the schema of others; undefined where it does. */
export async function differenceFrom(
  known: readonly Known[],
  { request }: Known,
  heavyWork: SchemaWork,
): Promise<Refusal | undefined> {
  const schema = JSON.stringify(schemaOf(known));
  const input = { schema, credentials: [], ...requestInput(request) };
  return await heavyWork.run("schema", input, { key: OWNER, timeout_ms: JOB_MS_MAX });
}

function shapeOfAll(known: readonly Known[]): Shape | undefined {
  const [first, ...others] = known.map(({ shape }) => shape);
  return first && others.reduce(mergeShapes, first);
}

function fieldsOf(known: readonly Known[]): Field[] {
  const shape = shapeOfAll(known);
  const headers = new Set(known.flatMap(({ request }) => [...request.headers.keys()]));
  const query = new Set(known.flatMap(({ request }) => [...request.query.keys()]));
  return [
    ...shape ? bodyFields(shape) : [],
    ...Array.from(headers, (name) => mapField("headers", name)),
    ...Array.from(query, (name) => mapField("query", name)),
  ];
}

function schemaOf(known: readonly Known[]): Schema {
  const shape = shapeOfAll(known);
  if (shape === undefined) return true;
  const schema = schemaOfShape(shape);
  return typeof schema === "boolean"
    ? schema
    : { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema };
}

/** Finds the shapes of stored bodies; those that have none are left out. */
export async function shapesOf(
  requests: readonly RecentRequest[],
  heavyWork: ShapeWork,
): Promise<Known[]> {
  let until_ms = Infinity;
  const known: Known[] = [];
  for (const stored of requests) {
    if (stored.size > BODY_BYTES_MAX || performance.now() > until_ms) continue;
    const request = await stored.load();
    if (request === undefined) continue;
    const limits = { key: OWNER, timeout_ms: JOB_MS_MAX };
    const shape = await heavyWork.run("shape", requestInput(request), limits);
    if (until_ms === Infinity) until_ms = performance.now() + READ_MS;
    if (shape !== undefined) known.push({ stored, shape, request });
  }
  return known;
}
