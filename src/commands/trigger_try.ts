/**
 * `hooklaunch trigger try`: what the actions of a trigger would launch. Nothing is launched.
 *
 * @module
 */
import type { Command } from "commander";
import type { PreviewedExecution, PreviewedFile, PreviewedHttpRequest } from "../actions/action.ts";
import type { ActionsTry, TriedRun } from "../http/api/try_actions.ts";
import { InvalidInputError } from "../platform/errors.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { wholeId } from "./api/whole_id.ts";
import { harmless, printJson } from "./console/table.ts";
import { headersOf } from "./input/http_message.ts";
import { readInput } from "./input/options.ts";

interface TryOptions extends ApiOptions {
  delivery?: string;
  header?: string[];
}

/** Defines the command. */
export function defineTriggerTry(command: Command): void {
  apiOptions(command.description("Show what a trigger's actions would launch, and launch nothing"))
    .argument("<trigger>", "name or id")
    .argument(
      "[file]",
      "the body of a request; - reads standard input. Default: the last deliveries",
    )
    .option("--delivery <id>", "a delivery in place of a file")
    .option(
      "--header <line>",
      "a header of the request, such as 'X-GitHub-Event: push' (repeatable)",
      (line: string, before: string[] | undefined) => [...before ?? [], line],
    )
    .option("--json", "print JSON")
    .action(tryActions);
}

async function tryActions(
  nameOrId: string,
  file: string | undefined,
  { url, json = false, delivery, header }: TryOptions,
): Promise<void> {
  if (file !== undefined && delivery !== undefined) {
    throw new InvalidInputError("the arguments", "Expected a file or --delivery, found both");
  }
  if (file === undefined && header !== undefined) {
    throw new InvalidInputError("the arguments", "Expected a file beside --header, found none");
  }
  const api = clientOf(url);
  const { id } = await findTrigger(api, nameOrId);
  const requests = file === undefined ? {} : {
    requests: [{
      headers: { "content-type": "application/json", ...headersOf(header ?? []) },
      body_base64: (await readInput(file, "the file")).toBase64(),
    }],
  };
  const delivery_id = delivery && await wholeId(api, "deliveries", delivery);
  const body = { ...requests, ...(delivery_id !== undefined && { delivery_id }) };
  const { results }: ActionsTry = await api.request("POST", `triggers/${id}/try-actions/`, body);
  if (json) return printJson(results);
  if (results.length === 0) {
    console.error(
      `Trigger "${nameOrId}" has no delivery to try its actions on: name a file with a body`,
    );
  }
  for (const result of results) console.log(describe(result).map(harmless).join("\n"));
}

function describe({ delivery_id, time, outcome, not_tried, actions }: TriedRun): string[] {
  const of = delivery_id === undefined ? "the file" : `${time}  ${delivery_id}  ${outcome}`;
  if (not_tried !== undefined) return [`${of}: not tried: ${not_tried}`];
  return [
    of,
    ...actions.flatMap(({ action, skipped, error, pipeline, executions = [], ...rest }, index) => {
      const place = `  actions/${index} ${action}`;
      if (skipped !== undefined) return [`${place}  skipped: ${skipped}`];
      if (error !== undefined) return [`${place}  fails: ${error}`];
      const first = pipeline === undefined ? place : `${place}  pipeline ${pipeline}`;
      const { http_request } = rest;
      const sent = http_request === undefined ? [] : requestLines(http_request);
      return [first, ...executions.flatMap(linesOf), ...sent];
    }),
  ];
}

function linesOf(execution: PreviewedExecution): string[] {
  const { node, step, commit, parameters, inputs, environment, metadata } = execution;
  const name = node === undefined ? "" : `node ${node}, `;
  return [
    `    ${name}step ${step} at ${commit.slice(0, 12)}`,
    ...parameters.map(({ name, type, value }) =>
      `      parameter ${name} (${type}): ${parameterText(type, value)}`
    ),
    ...Object.entries(inputs).map(([name, files]) =>
      `      input ${name}: ${files.map(fileText).join(", ")}`
    ),
    ...Object.entries(environment).map(([name, value]) =>
      `      environment ${name}: ${JSON.stringify(value)}`
    ),
    ...Object.entries(metadata).map(([name, value]) =>
      `      metadata ${name}: ${JSON.stringify(value)}`
    ),
  ];
}

/** Writes a number as its digits: one beyond 2^53 is a text in JSON. */
function parameterText(type: string, value: unknown): string {
  return type === "integer" && typeof value === "string" ? value : JSON.stringify(value);
}

function requestLines({ method, url, headers, body, sign }: PreviewedHttpRequest): string[] {
  return [
    `    ${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `      header ${name}: ${value}`),
    ...(sign === undefined ? [] : [`      signed as by ${sign}`]),
    ...(body === undefined ? [] : [`      body ${body}`]),
  ];
}

function fileText({ name, url, from }: PreviewedFile): string {
  if (from === "payload") return `the payload, ${name}`;
  return url ?? "from an edge";
}
