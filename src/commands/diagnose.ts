/**
 * `hooklaunch diagnose`: says why the signature or the token of a request does not match. The service finds it
 * out: it alone knows the secrets.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { DiagnosisResult } from "../http/api/diagnose.ts";
import { InvalidInputError } from "../platform/errors.ts";
import type { ShownDelivery } from "../http/api/delivery_views.ts";
import type { ApiClient } from "./api/client.ts";
import { apiOptions, clientOf } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { headersOf, type HttpMessage, parseHttpMessage } from "./input/http_message.ts";
import { idBeginning, wholeId } from "./api/whole_id.ts";
import { readInput } from "./input/options.ts";
import { findTrigger } from "./api/find_trigger.ts";

interface DiagnoseOptions {
  url: string;
  request?: string;
  header?: string[];
  calledUrl?: string;
  receivedAt?: string;
  delivery?: string;
  json?: boolean;
}

/** Defines the command. */
export function defineDiagnose(command: Command): void {
  apiOptions(command)
    .argument("[trigger]", "name or id; that of the delivery with --delivery")
    .argument("[file]", "the body of the request; - reads standard input")
    .option(
      "--delivery <id>",
      "a delivery in place of a file: one that the trigger keeps (keep_refused), or an accepted one",
      idBeginning,
    )
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
  nameOrId: string | undefined,
  file: string | undefined,
  options: DiagnoseOptions,
): Promise<void> {
  const { url, json = false, delivery } = options;
  const api = clientOf(url);
  const result = delivery === undefined
    ? await diagnoseMessage(api, nameOrId, { file, options })
    : await diagnoseDelivery(api, await wholeId(api, "deliveries", delivery), { nameOrId, file });
  if (json) return printJson(result.findings);
  for (const { certainty, condition, index, sentence } of result.findings) {
    const place = index < 0 ? condition : `conditions/${index} ${condition}`;
    console.log(harmless(`${certainty}  ${place}: ${sentence}`));
  }
}

async function diagnoseDelivery(
  api: ApiClient,
  delivery_id: string,
  { nameOrId, file }: { nameOrId: string | undefined; file: string | undefined },
): Promise<DiagnosisResult> {
  if (file !== undefined) {
    throw new InvalidInputError(
      "the arguments",
      "Expected either a file or --delivery, found both",
    );
  }
  const { id } = nameOrId === undefined
    ? { id: await triggerOf(api, delivery_id) }
    : await findTrigger(api, nameOrId);
  return await api.request("POST", `triggers/${id}/diagnose/`, { delivery_id });
}

async function triggerOf(api: ApiClient, deliveryId: string): Promise<string> {
  const delivery: ShownDelivery = await api.request("GET", `deliveries/${deliveryId}/`);
  return delivery.trigger_id;
}

async function diagnoseMessage(
  api: ApiClient,
  nameOrId: string | undefined,
  { file, options }: { file: string | undefined; options: DiagnoseOptions },
): Promise<DiagnosisResult> {
  const { header = [], receivedAt } = options;
  if (nameOrId === undefined) {
    throw new InvalidInputError(
      "the arguments",
      "Expected a trigger, and a file with the body of a request; or --delivery and the id of a delivery",
    );
  }
  const message = await readMessage(file, options);
  const trigger = await findTrigger(api, nameOrId);
  const calledUrl = options.calledUrl ?? calledUrlOf(message, trigger.url);
  return await api.request("POST", `triggers/${trigger.id}/diagnose/`, {
    method: message.method,
    headers: { ...message.headers, ...headersOf(header) },
    body: message.body.toBase64(),
    ...(calledUrl !== undefined && { url: calledUrl }),
    ...(receivedAt !== undefined && { received_at: receivedAt }),
  });
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
