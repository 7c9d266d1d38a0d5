/**
 * Long payloads in an artifact store that all instances share. Such a payload is stored before the commit that
 * accepts its run, as the chunks of others are.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactInfo, ArtifactStore } from "../../artifacts/store.ts";
import { HooklaunchError } from "../../platform/errors.ts";

/** The time that a launch waits for it. Its sender gets 503 two seconds later. */
const PUT_MS = 8_000;

/** A stored payload does not have the bytes that were accepted. */
export class CorruptPayloadError extends HooklaunchError {
  override readonly code = "payload_damaged";
}

/**
 * Stores a payload.
 *
 * @throws {UnavailableError} when the artifact store does not take it in time
 */
export async function putPayloadArtifact(
  artifacts: ArtifactStore,
  runId: string,
  body: Uint8Array,
  info: ArtifactInfo,
): Promise<void> {
  // A request's body is never in shared memory.
  const content = body as Uint8Array<ArrayBuffer>;
  await artifacts.put(artifactKeys.payload(runId), content, info, { within_ms: PUT_MS });
}

/**
 * Reads a payload. The last bytes come only when all of them are those that were accepted.
 *
 * @param options `sha256` of the payload, where it is known; `within_ms`, the time until it begins
 * @throws {CorruptPayloadError} when it is not there, or has other bytes
 * @throws {UnavailableError} when the artifact store cannot be read now
 */
export async function* readPayloadArtifact(
  artifacts: ArtifactStore,
  runId: string,
  { size, sha256, within_ms }: {
    size: number;
    sha256: string | undefined;
    within_ms: number | undefined;
  },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const found = await artifacts.open(artifactKeys.payload(runId), { within_ms });
  if (found === undefined) throw damaged(runId, `it is not in ${artifacts.name}`);
  if (found.size !== size) {
    await found.stream.cancel();
    throw damaged(runId, `it should have ${size} bytes, found ${found.size}`);
  }
  const hash = createHash("sha256");
  let held: Uint8Array<ArrayBuffer> | undefined;
  for await (const chunk of found.stream) {
    if (held !== undefined) yield held;
    if (sha256 !== undefined) hash.update(chunk);
    held = chunk;
  }
  if (sha256 !== undefined && hash.digest("hex") !== sha256) {
    throw damaged(runId, "its bytes are not those that came");
  }
  if (held !== undefined) yield held;
}

/**
 * Removes a payload.
 *
 * @throws {UnavailableError} when the artifact store cannot do that now
 */
export async function removePayloadArtifact(
  artifacts: ArtifactStore,
  runId: string,
): Promise<void> {
  await artifacts.remove(artifactKeys.payload(runId));
}

function damaged(runId: string, why: string): CorruptPayloadError {
  return new CorruptPayloadError(`Cannot read the payload of run ${runId}: ${why}`);
}
