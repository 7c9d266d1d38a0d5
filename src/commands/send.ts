/**
 * `hooklaunch send`: sends a file to a trigger, signed as the trigger's conditions require, to try the trigger
 * out. The service signs: it alone knows the secrets.
 *
 * @module
 */
import { type Command, Option } from "commander";
import type { SignedResult, TestResult, TestVerdict } from "../http/api/try_out.ts";
import type { ShownTrigger } from "../http/api/triggers.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import { shellQuote } from "../platform/shell.ts";
import type { ActionsTry } from "../http/api/try_actions.ts";
import type { PlayedHandshake } from "../triggers/play_handshakes.ts";
import { addressOf } from "./api/address.ts";
import { type ApiClient, ApiError, unreachable } from "./api/client.ts";
import { apiOptions, clientOf } from "./api/options.ts";
import { endOfWork, SENT_HEADER, sentRun, untilWorkEnded } from "./api/sent_run.ts";
import { exitCodeOf, exitCodesHelp } from "./console/exit_code.ts";
import { readInput } from "./input/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { typeByExtension } from "@std/media-types";

const TIMEOUT_MS = 60_000;
/** The longest body, in base64, that actions are tried on. */
const TRIED_LENGTH_MAX = 1_398_104;

interface SendOptions {
  url: string;
  contentType?: string;
  header?: string[];
  explain?: boolean;
  handshake?: boolean;
  wait?: boolean;
  follow?: boolean;
  json?: boolean;
}

/** Defines the command. */
export function defineSend(command: Command): void {
  apiOptions(command)
    .argument("<trigger>", "name or id")
    .argument("[file]", "the body to send; - reads standard input; an empty body when left out")
    .option("--content-type <type>", "the content type; from the file's name when left out")
    .option(
      "--header <line>",
      "another header, such as 'X-GitHub-Event: push' (repeatable)",
      (line: string, before: string[] | undefined) => [...before ?? [], line],
    )
    .option("--explain", 'print the verdict of each condition and of each action\'s "if", and why')
    .option(
      "--handshake",
      "play the provider: make each handshake of the trigger, and print its answer",
    )
    .option(
      "--wait",
      "wait until everything that the request launches has ended; the exit code says how",
    )
    .addOption(
      new Option(
        "-f, --follow",
        "as --wait, and print the logs of its executions as they come, one after the other",
      ).conflicts("json"),
    )
    .option("--json", "print JSON; with --wait, when the work has ended")
    .addHelpText("after", exitCodesHelp("with --wait and --follow", "work"))
    .action(send);
}

async function send(
  nameOrId: string,
  file: string | undefined,
  options: SendOptions,
): Promise<void> {
  const { json = false, explain = false, follow = false, wait = follow } = options;
  const api = clientOf(options.url);
  const trigger = await findTrigger(api, nameOrId);
  const { id } = trigger;
  if (options.handshake) {
    return await playHandshakes(api, id, { hasFile: file !== undefined, json });
  }
  const body_base64 = (file === undefined ? new Uint8Array() : await readInput(file, "the file"))
    .toBase64();
  const mark = wait ? crypto.randomUUID() : undefined;
  const headers = { ...headersOf(file, options), ...(mark && { [SENT_HEADER]: mark }) };
  const signed: SignedResult = await api.request("POST", `triggers/${id}/sign/`, {
    headers,
    body_base64,
  });
  const test = explain ? await tested(api, trigger, signed) : undefined;
  if (!json) printSigned(signed, test);
  const answer = await launch(id, signed, options.url);
  const text = await answer.text().catch((error) => {
    throw new ApiError(`Cannot read the service's answer ${answer.status}: ${messageOf(error)}`);
  });
  const lines = json ? [] : `${answer.status} ${text}`.split("\n");
  await writeLines(Deno.stdout, lines).catch(ignoreBrokenPipe);
  const run = mark !== undefined && answer.ok
    ? await untilWorkEnded(api, (await sentRun(api, trigger, mark)).id, { followsLogs: follow })
      .catch(ignoreBrokenPipe)
    : undefined;
  if (json) {
    const { notes, problems } = signed;
    printJson({ status: answer.status, body: text, notes, problems, ...test, ...(run && { run }) });
  }
  if (run) {
    if (!json) console.log(`work: ${run.work}`);
    Deno.exitCode = exitCodeOf(endOfWork(run));
  }
  if (answer.ok) return;
  if (!explain && !json) {
    const command = `hooklaunch trigger log ${shellQuote(nameOrId)}`;
    console.error(`To see why: add --explain, or run: ${command}`);
  }
  Deno.exitCode = 1;
}

/** Plays the provider. Each handshake that is answered is a line. */
async function playHandshakes(
  api: ApiClient,
  id: string,
  { hasFile, json }: { hasFile: boolean; json: boolean },
): Promise<void> {
  if (hasFile) {
    throw new InvalidInputError("--handshake", "Expected no file: the service makes the requests");
  }
  const { handshakes }: { handshakes: PlayedHandshake[] } = await api.request(
    "POST",
    `triggers/${id}/handshakes/`,
  );
  if (json) printJson({ handshakes });
  else for (const each of handshakes) console.log(harmless(describePlayed(each)));
  if (handshakes.length === 0 && !json) {
    console.error("The trigger has no handshake: every method but POST is answered 405");
  }
  if (handshakes.length === 0 || handshakes.some(({ answered }) => !answered)) Deno.exitCode = 1;
}

function describePlayed({ handshake, method, status, body, headers, reason }: PlayedHandshake) {
  if (status === undefined) return `${handshake}  ${method}  not answered: ${reason}`;
  const { "content-type": _type, ...others } = headers ?? {};
  const lines = Object.entries(others).map(([name, value]) => `${name}: ${value}`);
  return [`${handshake}  ${method}  ${status}`, ...lines, body ?? ""].join("  ").trimEnd();
}

async function launch(
  id: string,
  { url: signedUrl, headers, body_base64 }: SignedResult,
  serviceUrl: string,
): Promise<Response> {
  // The service may know itself by another address than the one in use here.
  const address = addressOf(serviceUrl);
  const url = `${address.base}/api/v0/launch/${id}/${new URL(signedUrl).search}`;
  return await fetch(url, {
    ...address.init,
    method: "POST",
    headers,
    body: Uint8Array.fromBase64(body_base64),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    throw unreachable(address, error);
  });
}

/** The verdicts on a request: of its trigger's conditions and, where it passes, those of its actions' conditions. */
interface Tested extends TestResult {
  actions?: ActionsTry["results"][number]["actions"];
}

async function tested(
  api: ApiClient,
  { id, actions }: ShownTrigger,
  { url, headers, body_base64 }: SignedResult,
): Promise<Tested> {
  const request = { headers, body_base64, query: new URL(url).search };
  const test: TestResult = await api.request("POST", `triggers/${id}/test/`, request);
  const isChosen = actions.some((action) => "if" in action && action.if !== undefined);
  if (!test.passed || !isChosen || body_base64.length > TRIED_LENGTH_MAX) return test;
  const tried: ActionsTry = await api.request("POST", `triggers/${id}/try-actions/`, {
    requests: [request],
  });
  return { ...test, actions: tried.results.flatMap(({ actions }) => actions) };
}

function printSigned({ notes, problems }: SignedResult, test: Tested | undefined): void {
  if (test !== undefined) {
    for (const { pointer, detail } of notes) console.log(`conditions${pointer}: ${detail}`);
    test.conditions.forEach(printVerdict);
    for (const [index, { action, skipped, error }] of (test.actions ?? []).entries()) {
      const failed = error === undefined ? "launches" : `fails: ${error}`;
      const said = skipped === undefined ? failed : `skipped: ${skipped}`;
      console.log(harmless(`actions/${index} ${action} ${said}`));
    }
  }
  for (const { pointer, detail } of problems) {
    console.error(`conditions${pointer}: ${ofService(detail)}`);
  }
}

/** Says of environment variables that they are the service's: the reader has others. */
function ofService(reason: string): string {
  return reason.replace(
    /environment variables? \S+(?:, \S+)*(?= (?:is|are) not set)/g,
    "$& of the service",
  );
}

function printVerdict({ condition, index, passed, ...said }: TestVerdict): void {
  const { reason, expected, found } = said;
  const why = [
    reason && ofService(reason),
    expected && `expected ${expected}`,
    found && `found ${found}`,
  ];
  const words = [passed ? "passes" : "refuses", why.filter(Boolean).join("; ")]
    .filter((text) => text !== "").join(": ");
  const line = index < 0 ? `${condition} ${words}` : `conditions/${index} ${condition} ${words}`;
  // Found values come from the file, which a sender may have written.
  console.log(harmless(line));
}

function headersOf(
  file: string | undefined,
  { contentType, header = [] }: SendOptions,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const extension = /\.(\w+)$/.exec(file ?? "")?.[1];
  const type = contentType ?? (extension === undefined ? undefined : typeByExtension(extension));
  if (type !== undefined) headers["content-type"] = type;
  for (const line of header) {
    const colon = line.indexOf(":");
    if (colon < 1) {
      throw new InvalidInputError(
        "--header",
        `Expected a name, a colon and a value, found "${line}"`,
      );
    }
    headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}
