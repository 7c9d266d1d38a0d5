/**
 * Parts of long bodies. To parse a long body takes too long for the thread that answers requests, so the
 * Worker for heavy work does it and returns the part that a condition reads.
 *
 * @module
 */
import type { HeavyWork } from "../platform/heavy_work/heavy_work.ts";
import {
  JobFailedError,
  type JobInput,
  JobTimeoutError,
  WorkerLostError,
} from "../platform/heavy_work/job.ts";
import { childOf } from "../platform/schema/pointer.ts";
import { type BodyPart, parseBody, type ParsedBody } from "./request.ts";

/** A body, and the part of it that is read. */
interface PartInput extends JobInput {
  contentType: string;
  part: BodyPart;
}

/** Heavy work that reads parts of bodies. */
export type PartWork = Pick<HeavyWork<{ body_part: () => Promise<typeof bodyPartJob> }>, "run">;

const PART_MS_MAX = 2_000;
/** A longer text is cut off, but one that is signed: no credential, time or id is as long. */
const TEXT_CHARACTERS_MAX = 65_536;
/** One more than {@linkcode readEach} takes. */
const ELEMENTS_MAX = 1_001;
const FIELDS_MAX = 1_000;

/** Parses a body; returns nothing of it but a part. */
export function bodyPartJob({ bytes, contentType, part }: PartInput): ParsedBody {
  const body = parseBody(bytes, contentType);
  const characters = part.isWhole ? Infinity : TEXT_CHARACTERS_MAX;
  switch (body.kind) {
    case "json":
      return { kind: "json", value: pruned(body.value, part, characters) };
    case "form":
      return body.fields.size > FIELDS_MAX && part.path.length === 0
        ? { kind: "other", refused: `it has more than ${FIELDS_MAX} fields` }
        : { kind: "form", fields: fieldsOf(body.fields, part, characters) };
    case "multipart":
      return { kind: "multipart", fields: fieldsOf(body.fields, part, characters) };
    case "other":
      return body;
  }
}

function fieldsOf<Value>(
  fields: ReadonlyMap<string, readonly Value[]>,
  { path: [name] }: BodyPart,
  characters: number,
): ReadonlyMap<string, readonly (Value | string)[]> {
  if (name === undefined) return fields;
  const values = fields.get(name);
  return new Map(
    values
      ? [[name, values.slice(0, ELEMENTS_MAX).map((each) => shortened(each, characters))]]
      : [],
  );
}

/** Copies the path to a value, and the value. Another kind of value than is read stays of its kind. */
function pruned(
  value: unknown,
  { path: [key, ...path], each }: BodyPart,
  characters: number,
): unknown {
  if (key !== undefined) {
    const child = childOf(value, key);
    if (child === undefined) return leafOf(value, characters);
    return Object.fromEntries([[key, pruned(child, { path, ...(each && { each }) }, characters)]]);
  }
  if (each === undefined || !Array.isArray(value)) return leafOf(value, characters);
  return value.slice(0, ELEMENTS_MAX).map((element) => pruned(element, { path: each }, characters));
}

function leafOf(value: unknown, characters: number): unknown {
  if (typeof value === "string") return shortened(value, characters);
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? [] : {};
}

function shortened<Value>(value: Value, characters: number): Value | string {
  return typeof value === "string" ? value.slice(0, characters) : value;
}

/** Reads a part of a long body in the Worker. A body that takes too long is one that cannot be parsed. */
export async function readPart(
  work: PartWork,
  input: PartInput,
  options: { key: string; signal?: AbortSignal },
): Promise<ParsedBody> {
  try {
    return await work.run("body_part", input, { ...options, timeout_ms: PART_MS_MAX });
  } catch (error) {
    if (error instanceof JobTimeoutError) {
      return { kind: "other", refused: `it takes more than ${PART_MS_MAX} ms to parse` };
    }
    if (error instanceof WorkerLostError || error instanceof JobFailedError) {
      return { kind: "other", refused: "to parse it takes too much memory" };
    }
    throw error;
  }
}
