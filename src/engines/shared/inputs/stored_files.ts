/**
 * Input files that Hooklaunch itself stores: payloads of runs and outputs of earlier executions.
 *
 * @module
 */
import { basename } from "node:path";
import { artifactKeys } from "../../../artifacts/keys.ts";
import { delay } from "@std/async/delay";
import { UnavailableError } from "../../../platform/errors.ts";
import { isId } from "../../../platform/ids.ts";
import { datumId, findDatum } from "../../../store/records/executions.ts";
import { readPayload } from "../../../store/records/payloads.ts";
import type { StagedFile } from "../config_files.ts";
import { NO_NAME } from "./names.ts";
import { StagingError } from "./errors.ts";
import type { OutputInputFile, PayloadFile, StagingContext, UrlFile } from "./source.ts";

/** The pause before an artifact store is asked again. It has repeated each request itself before. */
const RETRY_MS = 2_000;

/**
 * Writes a payload.
 *
 * @throws {CorruptPayloadError} when the stored payload is damaged
 */
export async function stagePayload(
  { name: wanted, payload_of, size, sha256 }: PayloadFile,
  context: StagingContext,
): Promise<StagedFile> {
  const { folder, keeper, budget, sources } = context;
  budget.take(size);
  const { name, path } = folder.place(wanted);
  const found = await whenAvailable(context, () =>
    keeper.take(path, {
      ...{ size, sha256, isChecked: true },
      open: () => Promise.resolve(readPayload(sources.store, payload_of, size, sha256)),
    }, { signal: sources.signal, onBytes: () => {} }));
  return { name, ...found, isPayload: true, artifact: artifactKeys.payload(payload_of) };
}

/**
 * Copies an output of an earlier execution.
 *
 * @throws when the output is missing or was changed
 */
export async function stageOutput(
  { name: wanted, output_of, path, size, sha256 }: OutputInputFile,
  context: StagingContext,
): Promise<StagedFile> {
  const { budget, folder } = context;
  budget.take(size);
  const place = folder.place(wanted);
  await whenAvailable(
    context,
    () => takeOutput({ output_of, path, size, sha256 }, place.path, context),
  );
  const id = datumId(output_of, path);
  const artifact = artifactKeys.output(output_of, path);
  return { name: place.name, size, sha256, uri: `datum://${id}`, datumId: id, artifact };
}

async function takeOutput(
  { output_of, path, size, sha256 }: Omit<OutputInputFile, "name">,
  target: string,
  { sources, budget, keeper }: StagingContext,
): Promise<void> {
  const what = `the output ${JSON.stringify(path)} of execution ${output_of}`;
  const changed = new StagingError(`${what} was changed after it had been made`);
  const open = async () => {
    const output = isId(output_of) ? await sources.openOutput(output_of, path) : undefined;
    if (output === undefined) throw new StagingError(`${what} is not there any more`);
    if (output.size === size) return output.stream;
    await output.stream.cancel();
    throw changed;
  };
  const file = { size, sha256, isChecked: false, open };
  const taken = await keeper.take(target, file, {
    signal: budget.signal,
    onBytes: (total) => {
      if (total > size) throw changed;
    },
  });
  if (taken.size !== size || taken.sha256 !== sha256) throw changed;
}

/** Does work, and repeats it while an artifact store cannot be used, within the time that inputs may take. */
async function whenAvailable<T>(
  { sources, budget }: StagingContext,
  work: () => Promise<T>,
): Promise<T> {
  for (let isLogged = false;; isLogged = true) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      if (!isLogged) await sources.logEvent(`Waiting for an input: ${error.message}`);
    }
    const { signal } = budget;
    await delay(RETRY_MS, { signal }).catch(() => {});
    signal.throwIfAborted();
  }
}

/**
 * Copies the output that a `datum:` URL names.
 *
 * @throws when there is no such output, or it belongs to another project
 */
export async function stageDatum(
  { name }: UrlFile,
  url: URL,
  context: StagingContext,
): Promise<StagedFile> {
  const id = url.host.toLowerCase();
  if (!isId(id) || !/^\/?$/.test(url.pathname)) {
    throw new StagingError("expected datum:// and the datum_id of an output");
  }
  const found = await findDatum(context.sources.store, id);
  if (found === undefined) {
    throw new StagingError("no output of an execution that is kept has this datum_id");
  }
  const { execution, output } = found;
  if (execution.project !== context.execution.project) {
    throw new StagingError("it is of another project, and projects do not share their data");
  }
  const wanted = name === NO_NAME ? basename(output.path) : name;
  return await stageOutput({ ...output, name: wanted, output_of: execution.id }, context);
}
