/**
 * `hooklaunch diagnose`: says why the signature or the token of a request does not match. The service finds it
 * out: it alone knows the secrets.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { DiagnosisResult } from "../http/api/diagnose.ts";
import { InvalidInputError } from "../platform/errors.ts";
import { apiOptions, clientOf } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { headersOf, type HttpMessage, parseHttpMessage } from "./input/http_message.ts";
import { readInput } from "./input/options.ts";
import { findTrigger } from "./api/find_trigger.ts";

interface DiagnoseOptions {
  url: string;
  request?: string;
  header?: string[];
  calledUrl?: string;
  receivedAt?: string;
  json?: boolean;
}

/** Defines the command. */
export function defineDiagnose(command: Command): void {
  apiOptions(command)
    .argument("<trigger>", "name or id")
    .argument("[file]", "the body of the request; - reads standard input")
    .option(
      "--request <file>",
      "the whole request as HTTP: request line, headers, empty line, body",
    )
    .option(
      "--header <line>",
      "a header of the request, such as 'X-Hub-Signature-256: sha256=…' (repeatable)",
      (line: string, before: string[] | undefined) => [...before ?? [], line],
    )
    .option("--called-url <url>", "the URL that the sender called; the launch URL when left out")
    .option("--received-at <time>", "the time at which the request came; now when left out", time)
    .option("--json", "print JSON")
    .action(diagnose);
}

function time(text: string): string {
  const time_ms = Date.parse(text);
  if (!Number.isNaN(time_ms)) return new Date(time_ms).toISOString();
  throw new InvalidArgumentError("Expected a date and time, such as 2027-01-31T09:30:00Z.");
}

async function diagnose(
  nameOrId: string,
  file: string | undefined,
  options: DiagnoseOptions,
): Promise<void> {
  const { url, json = false, header = [], receivedAt } = options;
  const message = await readMessage(file, options);
  const api = clientOf(url);
  const trigger = await findTrigger(api, nameOrId);
  const calledUrl = options.calledUrl ?? calledUrlOf(message, trigger.url);
  const result: DiagnosisResult = await api.request("POST", `triggers/${trigger.id}/diagnose/`, {
    method: message.method,
    headers: { ...message.headers, ...headersOf(header) },
    body: message.body.toBase64(),
    ...(calledUrl !== undefined && { url: calledUrl }),
    ...(receivedAt !== undefined && { received_at: receivedAt }),
  });
  if (json) return printJson(result.findings);
  for (const { certainty, condition, index, sentence } of result.findings) {
    const place = index < 0 ? condition : `conditions/${index} ${condition}`;
    console.log(harmless(`${certainty}  ${place}: ${sentence}`));
  }
}

async function readMessage(
  file: string | undefined,
  { request }: DiagnoseOptions,
): Promise<HttpMessage> {
  if ((file === undefined) === (request === undefined)) {
    throw new InvalidInputError(
      "the arguments",
      "Expected either the file with the body, with --header for each header, or --request and a file",
    );
  }
  if (request !== undefined) return parseHttpMessage(await readInput(request, "the request"));
  const body = await readInput(file ?? "-", "the file");
  return { method: "POST", target: undefined, headers: {}, body };
}

/** The URL that a request line and the header Host name; the scheme is that of the trigger's own URL. */
function calledUrlOf({ target, headers }: HttpMessage, launchUrl: string): string | undefined {
  if (target === undefined) return undefined;
  if (/^https?:/.test(target)) return target;
  const { protocol, host } = new URL(launchUrl);
  const called = `${protocol}//${headers.host ?? host}${target}`;
  return URL.canParse(called) ? called : undefined;
}
