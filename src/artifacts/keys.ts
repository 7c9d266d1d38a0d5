/**
 * The keys of artifacts.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";

/** The longest key in bytes of UTF-8, as S3 takes it. */
const KEY_BYTES_MAX = 1024;
/** The longest part in bytes of UTF-8, as disks take it. */
const PART_BYTES_MAX = 255;

/** Keys begin with one of these. */
export const artifactKeys = {
  /** Everything of one execution, or a part of it. */
  execution: (id: string, part?: "log" | "outputs"): string =>
    `executions/${id}/${part === "outputs" ? "outputs/" : part ?? ""}`,
  /** An output, by its path. */
  output: (executionId: string, path: string): string =>
    `executions/${executionId}/outputs/${path}`,
  /** A file that was fetched for a job, and is removed with it. */
  staged: (executionId: string, name: string): string => `executions/${executionId}/staged/${name}`,
  /** The log of an ended execution. */
  log: (executionId: string): string => `executions/${executionId}/log`,
  /** A snapshot of a project's folder. */
  snapshot: (id: string): string => `snapshots/${id}.tar`,
  /** The payload of a run. */
  payload: (runId: string): string => `payloads/${runId}`,
};

/**
 * Checks a key: it leads nowhere else in a folder, and S3 takes it.
 *
 * @throws {InvalidInputError} when it cannot be used
 */
export function checkKey(key: string): void {
  const parts = key.split("/");
  const isPath = parts.every((part) =>
    part !== "" && part !== "." && part !== ".." && bytesOf(part) <= PART_BYTES_MAX
  );
  const isText = key.isWellFormed() && !key.includes("\0");
  if (isPath && isText && bytesOf(key) <= KEY_BYTES_MAX) return;
  throw new InvalidInputError(
    "the artifact",
    `Expected a path of at most ${KEY_BYTES_MAX} bytes, ${PART_BYTES_MAX} between two /, without empty ` +
      `parts, "." and "..", found ${JSON.stringify(key.slice(0, 200))}`,
  );
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
