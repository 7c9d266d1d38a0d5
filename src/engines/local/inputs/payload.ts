/**
 * Input files that are the payload of a run.
 *
 * @module
 */
import type { InputFile } from "../../../store/records/executions.ts";
import { readPayload } from "../../../store/records/payloads.ts";
import { writeAllSync } from "../../../platform/files/write_all.ts";
import type { Bringing, BroughtFile } from "./source.ts";

/**
 * Writes a payload.
 *
 * @throws {CorruptPayloadError} when it is not stored as it was
 */
export async function bringPayload(
  { name: wanted, payload_of, size, sha256 }: Extract<InputFile, { payload_of: string }>,
  { folder, store }: Bringing,
): Promise<BroughtFile> {
  const { name, path } = folder.place(wanted);
  using target = Deno.openSync(path, { createNew: true, write: true });
  for await (const chunk of readPayload(store, payload_of, size, sha256)) {
    writeAllSync(target, chunk);
  }
  return { name, size, ...(sha256 === undefined ? {} : { sha256 }) };
}
