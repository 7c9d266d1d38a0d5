/**
 * `hooklaunch delivery`: one request at a launch URL, from its headers to what it launched.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";
import type { Command } from "commander";
import type {
  DeliveryDetails,
  DeliveryVerdict,
  ShownReplayOf,
} from "../http/api/delivery_details.ts";
import type { ShownHttpRequest } from "../http/api/http_requests.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printFields, printJson } from "./console/table.ts";
import { leftOutNames } from "./console/left_out.ts";
import { launcherText } from "./console/words.ts";
import { stateWord } from "../runs/state_word.ts";
import { workText } from "./console/work_text.ts";
import { idBeginning, withId } from "./api/whole_id.ts";

/** The characters of a body that are shown. */
const BODY_SHOWN = 2_000;

/** Defines the command. */
export function defineDelivery(command: Command): void {
  apiOptions(
    command.summary("Show a request at a launch URL, from its headers to what it launched")
      .description(
        "Show one request at a launch URL: headers, body, the verdict on each condition, the run and " +
          "what it launched. Credentials are masked.",
      ),
  )
    .argument(
      "<id>",
      "the id, or its beginning; deliveries and runs have the same ids",
      idBeginning,
    )
    .option("--json", "print JSON")
    .action(withId("deliveries", show));
}

async function show(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const delivery: DeliveryDetails = await clientOf(url).request("GET", `deliveries/${id}/`);
  if (json) return printJson(delivery);
  const {
    verdicts = [],
    headers,
    query,
    left_out,
    body,
    run,
    replays = [],
    executions: _executions,
    pipelines: _pipelines,
    http_requests: _requests,
    sent = [],
    run_status,
    launched_by: _launcher,
    ...fields
  } = delivery;
  printFields({
    ...fields,
    run_status: run_status && stateWord(run_status),
    launched_by: launcherText(delivery),
    query: query || undefined,
  });
  section("Headers", Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
  section("Too long to keep", leftOutNames(left_out));
  if (body !== undefined) section("Body", bodyLines(Uint8Array.fromBase64(body)));
  section("Conditions", verdicts.map(verdictText));
  if (run !== undefined) {
    section("Run", [
      `${run.id} ${stateWord(run.status)}`,
      ...run.actions.map(({ action, error, skipped }) =>
        `${action}: ${skipped === undefined ? error ?? "done" : `skipped: ${skipped}`}`
      ),
    ]);
    section("Launched", [
      ...run.executions.map(({ id, step, status }) => `execution ${id} ${step} ${status}`),
      ...run.pipelines.flatMap(({ id, name, status, nodes }) => [
        `pipeline ${id} ${name} ${status}`,
        ...nodes.map((node) =>
          `  ${node.name} ${node.status} ${node.execution_id ?? ""}`.trimEnd()
        ),
      ]),
    ]);
  }
  for (const request of sent) section(`Sent to ${request.url}`, sentLines(request));
  section("Launched again", replays.flatMap(replayLines));
}

function sentLines({ answer, result, ...request }: ShownHttpRequest): string[] {
  const { id, method, status, attempts, wait, next_at, until, reason } = request;
  return [
    `HTTP request ${id} ${method} ${status}`,
    `attempts ${attempts}, waits for ${wait}`,
    ...(reason === undefined ? [] : [`reason: ${reason}`]),
    ...(next_at === undefined ? [] : [`next at ${next_at}`]),
    ...(until === undefined || status !== "waiting" ? [] : [`until ${until}`]),
    ...cameLines("answer", answer),
    ...cameLines(wait === "poll" ? "last poll" : wait, result),
  ];
}

function cameLines(what: string, came: ShownHttpRequest["answer"]): string[] {
  if (came === undefined) return [];
  const { status, received_at, duration_ms, cut, body } = came;
  const took = duration_ms === undefined ? "" : `, ${duration_ms} ms`;
  return [
    `${what} ${status ?? ""} at ${received_at}${took}${cut ? ", cut" : ""}`.replace("  ", " "),
    ...bodyLines(Uint8Array.fromBase64(body)).map((line) => `  ${line}`),
  ];
}

function section(heading: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  console.log(`\n${heading}`);
  for (const line of lines) console.log(`  ${harmless(line)}`);
}

function bodyLines(bytes: Uint8Array): string[] {
  if (!isUtf8(bytes)) return [`${bytes.length} bytes that are not text; --json has them in base64`];
  const text = Buffer.from(bytes).toString();
  const rest = text.length - BODY_SHOWN;
  return [
    ...text.slice(0, BODY_SHOWN).split("\n"),
    ...(rest > 0 ? [`… and ${rest} more characters; --json has all`] : []),
  ];
}

function verdictText({ condition, index, verdict, ...said }: DeliveryVerdict): string {
  const { reason, expected, found } = said;
  const why = [reason, expected && `expected ${expected}`, found && `found ${found}`]
    .filter((part) => part).join("; ");
  const place = index < 0 ? condition : `conditions/${index} ${condition}`;
  return `${place} ${verdict}${why === "" ? "" : `: ${why}`}`;
}

function replayLines({ id, time, differences, ...replay }: ShownReplayOf): string[] {
  return [
    `${id} ${time} ${workText(replay)}`.trimEnd(),
    ...differences.map(({ what, before = "none", after = "none" }) =>
      `  ${what}: ${before} → ${after}`
    ),
  ];
}
