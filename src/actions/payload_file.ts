/**
 * The file that a payload becomes.
 *
 * @module
 */
import { extension } from "@std/media-types";
import { mediaType } from "../platform/network/media_type.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { Run } from "../store/records/runs.ts";

/** Extensions of media types that the registry gives none, or of which people expect another. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "application/epub+zip": "epub",
  "application/jsonl": "jsonl",
  "application/vnd.apache.parquet": "parquet",
  "application/x-gzip": "gz",
  "application/x-ndjson": "ndjson",
  "application/x-www-form-urlencoded": "txt",
  "application/x-yaml": "yaml",
  "application/x-zip-compressed": "zip",
  "application/yaml": "yaml",
  "audio/mpeg": "mp3",
  "image/svg+xml": "svg",
  "text/json": "json",
  "text/xml": "xml",
  "video/quicktime": "mov",
};
/** Structured syntax suffixes (RFC 6839) that name a format of their own. */
const SUFFIXES = ["json", "xml", "yaml", "zip"];

/**
 * The payload's file name: `payload` with an extension from the content type, or without one when
 * the type says nothing.
 */
function payloadFileName(contentType: string | undefined): string {
  const type = mediaType(contentType ?? "");
  const suffix = SUFFIXES.find((candidate) => type.endsWith(`+${candidate}`));
  const found = EXTENSIONS[type] ?? suffix ?? extension(type);
  return found === undefined ? "payload" : `payload.${found}`;
}

/** A run's payload as a file of an input. */
export function payloadFile({ id, payload }: Run): InputFile {
  const { content_type, size, sha256 } = payload;
  return { name: payloadFileName(content_type), payload_of: id, size, sha256 };
}

/** A stand-in for the payload of a run that is still to come. */
export const ANY_PAYLOAD: InputFile = { name: "payload", url: "datum://" };
