/**
 * Revisions as ETags: a client that sends `If-Match` does not overwrite a change of another one.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import type { Problem } from "../../platform/errors.ts";

const log = getLogger(["hooklaunch", "http"]);

/** The header of answers with one record. */
export const REVISION_HEADER = { ETag: "The revision; `If-Match` takes it" };

/** The request header of changes. */
export const IF_MATCH = {
  "If-Match": "The ETag that was read: another revision is answered 412, with the differences",
};

/** Makes the header with the revision of a record. */
export function revisionHeader({ revision }: { revision: number }): { etag: string } {
  return { etag: `"${revision}"` };
}

/**
 * Reads the revisions that `If-Match` allows (RFC 9110 section 13.1.1); undefined for any. A proxy that compresses
 * answers makes their ETags weak: a number stays the same.
 */
export function expectedRevisions(context: Context): number[] | undefined {
  const header = context.req.header("if-match");
  if (header === undefined || header.trim() === "*") return undefined;
  return header.split(",").map((each) => Number(/^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(each)?.[1]));
}

/** Logs the warnings about a record that was saved. */
export function logWarnings(
  kind: "project" | "trigger",
  name: string,
  warnings: readonly Problem[],
): void {
  for (const { pointer, detail } of warnings) {
    log.warn(`${kind} {${kind}} was saved: {pointer}: {detail}`, { [kind]: name, pointer, detail });
  }
}
