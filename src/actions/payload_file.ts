/**
 * Payloads as files of inputs.
 *
 * @module
 */
import { mediaType } from "../platform/network/media_type.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { Run } from "../store/records/runs.ts";

/** Extensions of media types for which the registry has none, or an unusual one, and of the commonest. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "application/epub+zip": "epub",
  "application/json": "json",
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
async function payloadFileName(contentType: string | undefined): Promise<string> {
  const type = mediaType(contentType ?? "");
  const suffix = SUFFIXES.find((candidate) => type.endsWith(`+${candidate}`));
  const found = EXTENSIONS[type] ?? suffix ?? await registered(type);
  return found === undefined ? "payload" : `payload.${found}`;
}

/** Looks a type up in the registry, of which most services need nothing but JSON. */
async function registered(type: string): Promise<string | undefined> {
  const { extension } = await import("@std/media-types");
  return extension(type);
}

/** Makes the file of a run's payload. */
export function payloadFile({ id, payload }: Run): Promise<InputFile> {
  return payloadFileOf(id, payload);
}

/** Makes the file of a payload. */
export async function payloadFileOf(
  runId: string,
  { content_type, size, sha256 }: Pick<Run["payload"], "size" | "sha256"> & {
    content_type?: string | undefined;
  },
): Promise<InputFile> {
  return { name: await payloadFileName(content_type), payload_of: runId, size, sha256 };
}

/** A stand-in for the payload of a future run. */
export const ANY_PAYLOAD: InputFile = { name: "payload", url: "datum://" };
