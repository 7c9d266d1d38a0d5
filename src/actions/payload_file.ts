/**
 * Payloads as files of inputs.
 *
 * @module
 */
import { extension } from "@std/media-types";
import { mediaType } from "../platform/network/media_type.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { Run } from "../store/records/runs.ts";

/** Extensions of media types for which the registry has none, or an unusual one. */
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
/** Structured syntax suffixes (RFC 6839) with their own extension. */
const SUFFIXES = ["json", "xml", "yaml", "zip"];

/**
 * Returns `payload` with the extension of a content type, or without one if the type is unknown.
 */
function payloadFileName(contentType: string | undefined): string {
  const type = mediaType(contentType ?? "");
  const suffix = SUFFIXES.find((candidate) => type.endsWith(`+${candidate}`));
  const found = EXTENSIONS[type] ?? suffix ?? extension(type);
  return found === undefined ? "payload" : `payload.${found}`;
}

/** Makes the file of a run's payload. */
export function payloadFile({ id, payload }: Run): InputFile {
  return payloadFileOf(id, payload);
}

/** Makes the file of a payload. */
export function payloadFileOf(
  runId: string,
  { content_type, size, sha256 }: Pick<Run["payload"], "size" | "sha256"> & {
    content_type?: string | undefined;
  },
): InputFile {
  return { name: payloadFileName(content_type), payload_of: runId, size, sha256 };
}

/** A stand-in for the payload of a future run. */
export const ANY_PAYLOAD: InputFile = { name: "payload", url: "datum://" };
