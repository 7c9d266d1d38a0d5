/**
 * Input files that are outputs of earlier executions.
 *
 * @module
 */
import { basename, join } from "node:path";
import { isId } from "../../../platform/ids.ts";
import { datumId, findDatum } from "../../../store/records/executions.ts";
import { openOutput } from "../outputs.ts";
import type { Bringing, BroughtFile, OutputInputFile, UrlFile } from "./source.ts";
import { checkedCopy } from "./checked_copy.ts";
import { NO_NAME } from "./names.ts";

/**
 * Copies an output.
 *
 * @throws when it is not there any more, or is not what it was
 */
export async function bringOutput(
  { name: wanted, output_of, path, size, sha256 }: OutputInputFile,
  { sources, allowance, folder }: Bringing,
): Promise<BroughtFile> {
  allowance.take(size);
  const what = `the output ${JSON.stringify(path)} of execution ${output_of}`;
  const output = isId(output_of)
    ? await openOutput(join(sources.root, output_of, "outputs"), path)
    : undefined;
  if (output === undefined) throw new Error(`${what} is not there any more`);
  using _closed = output;
  const changed = new Error(`${what} was changed after it had been made`);
  if ((await output.stat()).size !== size) throw changed;
  const place = folder.place(wanted);
  const copied = await checkedCopy(output, place.path, {
    signal: allowance.signal,
    onBytes: (total) => {
      if (total > size) throw changed;
    },
  });
  if (copied.size !== size || copied.sha256 !== sha256) throw changed;
  const id = datumId(output_of, path);
  return { name: place.name, size, sha256, uri: `datum://${id}`, datumId: id };
}

/**
 * Copies the output that a `datum:` URL names.
 *
 * @throws when there is none, or it is of another project
 */
export async function bringDatum(
  { name }: UrlFile,
  url: URL,
  bringing: Bringing,
): Promise<BroughtFile> {
  const id = url.host.toLowerCase();
  if (!isId(id) || !/^\/?$/.test(url.pathname)) {
    throw new Error("expected datum:// and the datum_id of an output");
  }
  const found = await findDatum(bringing.store, id);
  if (found === undefined) {
    throw new Error("no output of an execution that is kept has this datum_id");
  }
  const { execution, output } = found;
  if (execution.project !== bringing.execution.project) {
    throw new Error("it is of another project, and projects do not share their data");
  }
  const wanted = name === NO_NAME ? basename(output.path) : name;
  return await bringOutput({ ...output, name: wanted, output_of: execution.id }, bringing);
}
