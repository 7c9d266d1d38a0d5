/**
 * The answers to agents: lines of words that a shell can read. The last line of a whole answer is "ok".
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { ArtifactMismatchError } from "../../artifacts/store.ts";
import { type BeatAnswer, JobEndedError, type JobManifest } from "../../engines/remote/desk.ts";
import {
  ActionError,
  ConflictError,
  InvalidInputError,
  TooLargeError,
} from "../../platform/errors.ts";
import { problem, problemOfError } from "../problem.ts";

/** The title of a refusal. An agent tells it from an answer of a proxy by it. */
const REFUSED = "Job request refused";
const UNKNOWN =
  "The token is not one of this execution, it has expired, or another agent has the job";

/** Answers with lines. */
export function lines(written: readonly string[], status: number = STATUS_CODE.OK): Response {
  return new Response([...written, "ok", ""].join("\n"), {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}

/** Answers a request without a right: always the same, whatever is wrong. */
export function forbidden(): Response {
  return refusal(STATUS_CODE.Forbidden, UNKNOWN);
}

/** Answers with a refusal that an agent heeds. Any other error makes it try again. */
export function refusal(status: number, detail: string): Response {
  return problem(status, { title: REFUSED, detail });
}

/** Answers a request from the error that it ended with. */
export function refusalOfError(error: unknown): Response {
  if (error instanceof JobEndedError) return forbidden();
  if (error instanceof ConflictError) return refusal(STATUS_CODE.Conflict, error.message);
  if (error instanceof TooLargeError) return refusal(STATUS_CODE.ContentTooLarge, error.message);
  if (
    error instanceof InvalidInputError || error instanceof ArtifactMismatchError ||
    error instanceof ActionError
  ) {
    return refusal(STATUS_CODE.UnprocessableEntity, error.message);
  }
  return problemOfError(error);
}

/** The lines of a manifest. Paths are the last word of their line, as `printf %b` reads them. */
export function manifestLines(manifest: JobManifest): string[] {
  const { timeLimitS, noOutputTimeoutS } = manifest;
  const limit = (name: string, value: number | undefined) =>
    value === undefined ? [] : [`limit ${name} ${value}`];
  return [
    ...limit("grace", manifest.graceS),
    ...limit("time", timeLimitS),
    ...limit("silence", noOutputTimeoutS),
    ...limit("stream", manifest.streamBytesMax),
    ...limit("outputs", manifest.outputsMax),
    ...limit("output_bytes", manifest.outputBytesMax),
    `shell ${manifest.shell ? "yes" : "no"}`,
    ...manifest.folders.map((path) => `folder ${escaped(path)}`),
    ...manifest.files.map(({ path, kind, mode, size = "-", sha256 = "-" }, index) =>
      `file ${index} ${kind} ${mode.toString(8)} ${size} ${sha256} ${escaped(path)}`
    ),
    ...manifest.code === undefined ? [] : [`code ${manifest.code}`],
  ];
}

/** The lines that answer a beat. */
export function beatLines({ acknowledged, stop, full }: BeatAnswer): string[] {
  return [
    `acknowledged ${acknowledged}`,
    ...(stop ? ["stop"] : []),
    ...(full ? ["full"] : []),
  ];
}

/** Writes a path as one word for `printf %b`: every byte that is not plain as `\0` and three octal digits. */
function escaped(path: string): string {
  const bytes = Array.from(new TextEncoder().encode(path), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w./-]/.test(character) ? character : `\\0${byte.toString(8).padStart(3, "0")}`;
  });
  return bytes.join("");
}
