/**
 * Writes the results of an execution into its record: metadata and outputs.
 *
 * @module
 */
import type { Execution, OutputFile } from "../../store/records/executions.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../../store/records/record_size.ts";
import { failInstead } from "./execution_end.ts";
import type { Metadata } from "./metadata.ts";

/** Room in a record for the reason of a failure. */
const REASON_BYTES = 256;
const PATHS_SHOWN_MAX = 10;
/** Room in the record of a running execution for how it is to end, which is stored before it ends. */
const ENDING_BYTES = 4 * 1024;

/** The outputs of an execution that has ended. */
export interface ListedOutputs {
  /** By path. */
  files: OutputFile[];
  /** At least so many files are there besides. */
  more: number;
  /** True when some are left out because of their length. */
  isTooLarge: boolean;
}

/**
 * Writes outputs into the record of an execution that has ended. If some are left out, the execution fails.
 *
 * @param mb_max the limit of their length together
 */
export function takeOutputs(
  execution: Execution,
  { files, more, isTooLarge }: ListedOutputs,
  mb_max: number,
): void {
  execution.outputs = fitting(execution, files);
  const { length: listed } = execution.outputs;
  const all = files.length + more;
  if (isTooLarge) failInstead(execution, `The outputs are longer than ${mb_max} MiB together`);
  if (listed < all) {
    const advice = "put some of them together into an archive";
    failInstead(execution, `Too many outputs: ${listed} of ${all} can be listed; ${advice}`);
  }
}

/** Returns as many of the files as the record has room for. */
function fitting(execution: Execution, files: OutputFile[]): OutputFile[] {
  const isTooLarge = (count: number) =>
    recordBytes({ ...execution, outputs: files.slice(0, count) }) >
      RECORD_BYTES_MAX - REASON_BYTES;
  if (!isTooLarge(files.length)) return files;
  let [fit, tooMany] = [0, files.length];
  while (tooMany - fit > 1) {
    const middle = Math.floor((fit + tooMany) / 2);
    if (isTooLarge(middle)) tooMany = middle;
    else fit = middle;
  }
  return files.slice(0, fit);
}

/** Returns some of the paths, for a message. */
export function shown(paths: readonly string[]): string {
  const more = paths.length - PATHS_SHOWN_MAX;
  const some = paths.slice(0, PATHS_SHOWN_MAX).map((path) => JSON.stringify(path)).join(", ");
  return more > 0 ? `${some} and ${more} more` : some;
}

/**
 * Writes metadata into the record of an execution.
 *
 * @param bytesMax the size limit of the record. Default: room is left for its end
 * @returns false when the record has no room for it. The record has no metadata then
 */
export function writeMetadata(
  execution: Execution,
  metadata: Metadata,
  bytesMax = RECORD_BYTES_MAX - ENDING_BYTES,
): boolean {
  execution.metadata = metadata.latest;
  if (recordBytes(execution) <= bytesMax) return true;
  execution.metadata = {};
  return false;
}
