/**
 * `/api/v0/executions/<id>/outputs/<path>`: the files that an execution saved.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { basename } from "node:path/posix";
import type { Engine } from "../../engines/engine.ts";
import { checkedOutput } from "../../engines/shared/checked_output.ts";
import { NotFoundError, RemovedError, UnavailableError } from "../../platform/errors.ts";
import { engineIdOf } from "../../store/records/attempts.ts";
import type { Execution } from "../../store/records/executions.ts";
import { existingAttempt } from "./executions.ts";
import { attemptQuery } from "./queries.ts";
import { operation } from "./operation.ts";

const HEADERS = { "Content-Disposition": "A name for it as a file", ETag: "Its SHA-256" };

/** The operation that reads an output. */
export const outputOperations = [
  operation({
    id: "getExecutionOutput",
    method: "get",
    path: "/executions/{id}/outputs/{path}",
    summary: "Read a file that an execution saved",
    query: attemptQuery,
    headers: { "If-None-Match": "The ETag of the file that the client has" },
    answers: {
      200: { media: { "application/octet-stream": undefined }, headers: HEADERS },
      304: { description: "The client has this file already", headers: HEADERS },
    },
    async perform({ api, context, params: { id, path }, query: { attempt } }) {
      const execution = await existingAttempt(api.store, id, attempt);
      const engine = api.engines.of(execution.engine.type);
      const machine = engine.machineOf?.(execution);
      const isElsewhere = machine !== undefined && machine !== api.store.shared?.machineId;
      return await outputAnswer(context, execution, { engine, path, isElsewhere });
    },
  }),
];

/** Answers with a file that is listed in an execution's record. */
async function outputAnswer(
  context: Context,
  execution: Execution,
  { engine, path, isElsewhere }: { engine: Engine; path: string; isElsewhere: boolean },
): Promise<Response> {
  const { outputs, outputs_removed_at, machine } = execution;
  const missing = () => new NotFoundError(`There is no output "${path}"`);
  const listed = outputs.find((output) => output.path === path);
  if (listed === undefined && outputs_removed_at !== undefined) {
    throw new RemovedError(
      `The outputs were removed at ${outputs_removed_at}, as their retention says`,
    );
  }
  if (listed === undefined) throw missing();
  const headers = {
    // Never the file's own type: a browser must not run it as a page of ours.
    "content-type": "application/octet-stream",
    "x-content-type-options": "nosniff",
    "content-disposition": attachment(basename(path)),
    "content-length": String(listed.size),
    "etag": `"${listed.sha256}"`,
    // A compressed copy has another length and would need another ETag.
    "cache-control": "private, no-cache, no-transform",
  };
  if (isKnown(context.req.header("if-none-match"), headers.etag)) {
    const { "content-length": _length, ...rest } = headers;
    return context.body(null, 304, rest);
  }
  // Without a body nothing would close the file.
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const output = await engine.output(engineIdOf(execution), path);
  if (output === undefined && isElsewhere) {
    const where = machine ?? "another machine";
    throw new UnavailableError(
      `Cannot read the output "${path}": it is on ${where}, which is silent`,
      5,
    );
  }
  if (output === undefined) throw missing();
  return context.body(await checkedOutput(listed, output), 200, headers);
}

/** Makes a `Content-Disposition` with a name (RFC 6266), in ASCII for old clients and in UTF-8. */
export function attachment(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const quoted = `attachment; filename="${ascii}"`;
  if (ascii === name) return quoted;
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${quoted}; filename*=UTF-8''${encoded}`;
}

/** Returns true when a client has the file already (RFC 9110 section 13.1.2). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch === "*" ||
    (ifNoneMatch?.split(",").some((each) => each.trim().replace(/^W\//, "") === etag) ?? false);
}
