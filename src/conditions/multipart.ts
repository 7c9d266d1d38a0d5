/**
 * Bodies of multipart/form-data (RFC 7578). The platform parses them. It takes one that is cut off for a whole
 * one and leaves out a part without a name, so the boundaries are counted first.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { PartPending } from "../platform/waiting/pending.ts";
import type { BodySize } from "./body_limits.ts";

const PARTS_MAX = 1_000;
const BOUNDARY = /;[ \t]*boundary=(?:"([^"]{1,200})"|([^\s;",]{1,200}))/i;
const CR = 0x0d;
const LF = 0x0a;
/** The values of a file, and its field. */
const VALUES_OF_PART = 4;

/** A file in a body. */
interface FilePart {
  name: string;
  type: string;
  size: number;
}

/** The fields of a body, in their order: texts and files. */
export interface MultipartBody {
  kind: "multipart";
  fields: ReadonlyMap<string, readonly (string | FilePart)[]>;
}

/** The reason why a body is not parsed. */
interface Refused {
  refused: string;
}

/** The bodies that have been parsed, by their bytes. */
const parsed = new WeakMap<Uint8Array, MultipartBody | Refused>();

/** Measures a body by its boundaries. */
export function sizeOfMultipart(bytes: Uint8Array, contentType: string): BodySize | Refused {
  const boundary = boundaryIn(contentType);
  if (boundary === undefined) return refused("its Content-Type names no boundary");
  const parts = countParts(bytes, boundary);
  return typeof parts === "number"
    ? { values: 1 + VALUES_OF_PART * parts, names: parts, text: bytes.length }
    : parts;
}

/**
 * Returns the fields of a body.
 *
 * @throws {PartPending} when it has not been parsed yet
 */
export function fieldsOfMultipart(
  bytes: Uint8Array,
  contentType: string,
  { names: parts }: BodySize,
): MultipartBody | Refused {
  const found = parsed.get(bytes);
  if (found) return found;
  throw new PartPending(
    parse(bytes, contentType, parts).then((result) => parsed.set(bytes, result)),
  );
}

/** Counts the parts between the boundaries, up to one more than the limit. */
function countParts(bytes: Uint8Array, boundary: string): number | Refused {
  const parts = partsIn(bytes, boundary);
  return Array.isArray(parts) ? parts.length : parts;
}

/** A part of a body with its headers: its first byte, and the one behind it. */
type Part = readonly [start: number, end: number];

/** Lists the parts of a body, in their order; undefined where it is none. */
export function partsOfMultipart(
  bytes: Uint8Array,
  contentType: string,
): readonly Part[] | undefined {
  const boundary = boundaryIn(contentType);
  const parts = boundary === undefined ? undefined : partsIn(bytes, boundary);
  return Array.isArray(parts) ? parts : undefined;
}

function boundaryIn(contentType: string): string | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  return quoted ?? plain;
}

function partsIn(bytes: Uint8Array, boundary: string): Part[] | Refused {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  const parts: Part[] = [];
  let start: number | undefined;
  let end = 0;
  for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, end)) {
    end = at + delimiter.length;
    const beginsLine = at === 0 || text[at - 2] === CR && text[at - 1] === LF;
    if (!beginsLine) continue;
    const isLast = text.toString("latin1", end, end + 2) === "--";
    const [rest] = /^[ \t]*\r\n/.exec(text.toString("latin1", end, end + 100)) ?? [];
    // A longer line only begins like the boundary.
    if (!isLast && rest === undefined) continue;
    if (start !== undefined) parts.push([start, Math.max(start, at - 2)]);
    if (isLast) return parts;
    if (parts.length === PARTS_MAX) return refused(`it has more than ${PARTS_MAX} parts`);
    start = end + (rest ?? "").length;
  }
  return refused(
    start === undefined ? "it has no boundary" : "it is cut off before its last boundary",
  );
}

async function parse(
  bytes: Uint8Array,
  contentType: string,
  parts: number,
): Promise<MultipartBody | Refused> {
  let form: FormData;
  try {
    // No thread shares the bytes of a body.
    const body = bytes as Uint8Array<ArrayBuffer>;
    form = await new Response(body, { headers: { "content-type": contentType } }).formData();
  } catch {
    return refused("it is malformed");
  }
  const fields = new Map<string, (string | FilePart)[]>();
  let count = 0;
  for (const [sentName, value] of form) {
    count++;
    const name = unquoted(sentName);
    const part = typeof value === "string" ? value : fileOf(value);
    if (name === undefined || part === undefined) {
      return refused("the name of a part holds a semicolon or a quotation mark");
    }
    const values = fields.get(name);
    if (values) values.push(part);
    else fields.set(name, [part]);
  }
  return count === parts
    ? { kind: "multipart", fields }
    : refused("it is malformed: a part has no name or no end of its headers");
}

function fileOf({ name: sentName, type, size }: File): FilePart | undefined {
  const name = unquoted(sentName);
  return name === undefined ? undefined : { name, type, size };
}

/** Reads a name that the platform left in its quotes; undefined for one that it has cut at a semicolon. */
function unquoted(name: string): string | undefined {
  if (!name.startsWith('"')) return name;
  const [, inner] = /^"(.*)"$/s.exec(name) ?? [];
  return inner?.replaceAll(/\\(["\\])/g, "$1");
}

function refused(why: string): Refused {
  return { refused: why };
}
