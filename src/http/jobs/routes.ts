/**
 * `/api/v0/jobs/<execution_id>/`: what the agent of a job asks for. An agent shows the token of its execution,
 * which opens nothing else, and after the claim also its claim.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { hash } from "node:crypto";
import type { JobDesk, JobPass } from "../../engines/remote/desk.ts";
import type { Clock } from "../../platform/clock.ts";
import { isId } from "../../platform/ids.ts";
import type { BodyReader } from "../body.ts";
import { beatLines, forbidden, lines, manifestLines, refusal, refusalOfError } from "./answers.ts";
import {
  beatQuery,
  claimQuery,
  credentialsOf,
  endQuery,
  fileQuery,
  outputQuery,
  readBytes,
  readQuery,
  uploadStream,
} from "./input.ts";

/** The longest part of a log that comes at once. */
const BEAT_BYTES_MAX = 512 * 1024;
/** The longest list of files that were not uploaded. */
const END_BYTES_MAX = 1024 * 1024;
/** Files that are sent or received at once. */
const TRANSFERS_MAX = 256;
/** RFC 9110 section 15.4.8. */
const TEMPORARY_REDIRECT = 307;
/** Names of files that an end may list. */
const NOT_UPLOADED_MAX = 2_000;

/** The parts of the service that agents reach. */
export interface JobRoutesParts {
  /** Returns the desk of an execution's job; undefined when there is none. */
  deskOf(executionId: string): Promise<JobDesk | undefined>;
  clock: Clock;
  bodies: BodyReader;
  /** Aborted when the service stops. */
  closing: AbortSignal;
}

/** A request of an agent that was admitted. */
interface Admitted extends JobRoutesParts {
  desk: JobDesk;
  pass: JobPass;
}

type Handler = (context: Context, admitted: Admitted) => Promise<Response>;

/** A route of agents, below `/api/v0/jobs`. */
interface JobRoute {
  method: "GET" | "POST" | "PUT";
  path: `/:execution_id/${string}`;
  handle: Handler;
  /** It holds a file, or a connection to the artifact store. */
  isTransfer?: true;
  /** The token still opens it when the job has ended. It does nothing but to answer a repeat. */
  opensAfterEnd?: true;
}

/** Every route of agents. */
export const JOB_ROUTES: readonly JobRoute[] = [
  { method: "POST", path: "/:execution_id/claim", handle: claim },
  { method: "GET", path: "/:execution_id/manifest", handle: manifest },
  { method: "GET", path: "/:execution_id/files/:index", handle: file },
  { method: "POST", path: "/:execution_id/beat", handle: beat },
  { method: "POST", path: "/:execution_id/outputs", handle: beginUpload },
  { method: "PUT", path: "/:execution_id/outputs", handle: upload, isTransfer: true },
  { method: "POST", path: "/:execution_id/end", handle: end, opensAfterEnd: true },
];

/** Makes the routes. The caller has checked that the request came over HTTPS, or need not. */
export function jobRoutes(parts: JobRoutesParts): Hono {
  const app = new Hono({ strict: false });
  let transfers = 0;
  const handled = ({ handle, isTransfer, opensAfterEnd }: JobRoute) => async (context: Context) => {
    const found = await admit(context, parts);
    if (found === undefined || found.pass.hasEnded && !opensAfterEnd) return forbidden();
    if (!isTransfer) return await handle(context, { ...parts, ...found });
    if (transfers >= TRANSFERS_MAX) {
      return refusal(STATUS_CODE.ServiceUnavailable, "Too many files are sent at once");
    }
    transfers++;
    try {
      return await handle(context, { ...parts, ...found });
    } finally {
      transfers--;
    }
  };
  for (const route of JOB_ROUTES) app.on(route.method, route.path, handled(route));
  app.onError(refusalOfError);
  return app;
}

async function admit(
  context: Context,
  { deskOf }: JobRoutesParts,
): Promise<Pick<Admitted, "desk" | "pass"> | undefined> {
  const executionId = context.req.param("execution_id") ?? "";
  const credentials = credentialsOf(context);
  if (credentials === undefined || !isId(executionId)) return undefined;
  const desk = await deskOf(executionId);
  const pass = await desk?.admit(executionId, credentials.token, credentials.claimId);
  return desk && pass && { desk, pass };
}

async function claim(context: Context, { pass, desk }: Admitted): Promise<Response> {
  const { host, folder, manifest: wantsManifest } = readQuery(context, claimQuery);
  const claimId = credentialsOf(context)?.claimId;
  if (claimId === undefined) {
    return refusal(STATUS_CODE.UnprocessableEntity, "Expected the header Hooklaunch-Claim");
  }
  if (await desk.claim(pass, { claimId, host, folder }) !== "claimed") {
    return refusal(STATUS_CODE.Conflict, "Another agent has this execution, or it has ended");
  }
  if (!wantsManifest) return lines(["claimed"]);
  // It saves a request. Of one that fails the agent learns when it asks for it.
  const found = await desk.manifest(pass).catch(() => "preparing" as const);
  if (found === "preparing") return lines(["claimed"]);
  return lines(["claimed", ...manifestLines(found)], STATUS_CODE.Created);
}

async function manifest(_context: Context, { pass, desk }: Admitted): Promise<Response> {
  const found = await desk.manifest(pass);
  if (found === "preparing") return lines(["preparing"], STATUS_CODE.Accepted);
  return lines(manifestLines(found));
}

async function file(context: Context, { pass, desk }: Admitted): Promise<Response> {
  const index = context.req.param("index") ?? "";
  const { through } = readQuery(context, fileQuery);
  const found = /^\d{1,6}$/.test(index)
    ? await desk.file(pass, Number(index), { opens: through === "service" })
    : undefined;
  if (found === undefined) {
    return refusal(STATUS_CODE.UnprocessableEntity, `The manifest has no file ${index}`);
  }
  if ("url" in found) return context.redirect(found.url, TEMPORARY_REDIRECT);
  const { size, stream } = found;
  return context.body(stream, STATUS_CODE.OK, {
    "content-type": "application/octet-stream",
    "cache-control": "no-store, no-transform",
    ...(size === undefined ? {} : { "content-length": String(size) }),
  });
}

async function beat(
  context: Context,
  { pass, desk, bodies, clock }: Admitted,
): Promise<Response> {
  const { stream, offset, state, ago, last } = readQuery(context, beatQuery);
  const bytes = await readBytes(context, { bodies, limit_bytes: BEAT_BYTES_MAX });
  const answer = await desk.beat(pass, {
    stream,
    offset,
    bytes,
    state,
    time_ms: clock.now() - ago * 1_000,
    ...(last && { isLast: last }),
  });
  return lines(beatLines(answer));
}

async function beginUpload(
  context: Context,
  { pass, desk }: Admitted,
): Promise<Response> {
  const { put, ...output } = readQuery(context, outputQuery);
  if (put) {
    if (await desk.finishUpload(pass, output)) return lines(["stored"]);
    return refusal(STATUS_CODE.UnprocessableEntity, "The file was not put there, or differs");
  }
  const begun = await desk.beginUpload(pass, output);
  if (typeof begun === "string") return lines([begun]);
  return lines([`put ${begun.put.url}`, `checksum ${begun.put.checksum}`]);
}

async function upload(
  context: Context,
  { pass, desk, closing }: Admitted,
): Promise<Response> {
  const { put: _put, ...output } = readQuery(context, outputQuery);
  const broken = new AbortController();
  const signal = AbortSignal.any([broken.signal, closing]);
  const stream = uploadStream(context.req.raw, output.size, (error) => broken.abort(error));
  try {
    await desk.upload(pass, output, stream, signal);
  } finally {
    // What does not want the rest tells the sender so.
    if (!stream.locked) await stream.cancel().catch(() => {});
  }
  return lines(["stored"]);
}

async function end(context: Context, { pass, desk, bodies }: Admitted): Promise<Response> {
  const { stdout, stderr, outputs, exit_code, cause, reason } = readQuery(context, endQuery);
  const listed = await readBytes(context, { bodies, limit_bytes: END_BYTES_MAX });
  const digest = digestOf(context.req.query(), listed);
  const names = new TextDecoder().decode(listed).split("\n").filter((line) => line !== "")
    .slice(0, NOT_UPLOADED_MAX);
  const isPassedOver = (line: string) => line.startsWith("!");
  await desk.end(pass, {
    digest,
    ...(outputs === undefined ? {} : { outputs }),
    ...(exit_code === undefined ? {} : { exitCode: exit_code }),
    ...(cause === undefined ? {} : { cause }),
    ...(reason === undefined ? {} : { reason }),
    notUploaded: names.filter((line) => !isPassedOver(line)).map(decoded),
    passedOver: names.filter(isPassedOver).map(decoded),
    logEnds: { stdout, stderr },
  });
  return lines(["ended"]);
}

/** Returns a digest of a report: the same for a repeat alone. */
function digestOf(query: Record<string, string>, listed: Uint8Array): string {
  const fields = JSON.stringify(Object.entries(query).sort());
  return hash("sha256", `${fields}\n${hash("sha256", listed)}`);
}

/** Decodes the percent-encoded bytes of a path, of which not all need be UTF-8. */
function decoded(text: string): string {
  const bytes = Uint8Array.from(text.match(/[0-9a-f]{2}/gi) ?? [], (hex) => parseInt(hex, 16));
  return new TextDecoder().decode(bytes);
}
