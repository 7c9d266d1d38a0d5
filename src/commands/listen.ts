/**
 * `hooklaunch listen`: sends a copy of each request of a trigger to an address of one's own, as it comes.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ListenedDelivery } from "../http/api/listen_stream.ts";
import { messageOf } from "../platform/errors.ts";
import { evictOldest } from "../platform/evict_oldest.ts";
import { headerValue } from "../platform/network/header_text.ts";
import { isId } from "../platform/ids.ts";
import { DELIVERY_OUTCOMES } from "../store/records/deliveries.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { followEvents } from "./api/follow.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { recordText } from "./console/format.ts";
import { type Column, harmless, rowText, visibleColumns } from "./console/table.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";
import { since } from "./input/delivery_filter.ts";
import { onStopSignal } from "./process/stop_signals.ts";

/** The time that the local server gets for an answer. */
const ANSWER_TIMEOUT_MS = 30_000;
/** A body of 16 MiB in base64, and its headers. */
const EVENT_LENGTH_MAX = 24 * 1024 * 1024;
/** Deliveries that are known when they come again after a lost connection. */
const KNOWN_MAX = 20_000;
/** The headers that belong to the sender's connection, not to its request. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

interface ListenOptions extends ApiOptions {
  to: URL;
  since?: { after: string } | { from: string };
  outcome?: string;
  condition?: string;
}

/** The copy of a delivery, and its answer. */
interface Forwarded {
  delivery: ListenedDelivery["delivery"];
  exact: boolean;
  /** The status of the local answer. */
  answer?: number;
  /** The reason for which there is no local answer. */
  error?: string;
  /** Milliseconds until the local answer. */
  duration_ms?: number;
}

const COLUMNS: readonly Column<Forwarded>[] = [
  ["time", ({ delivery }) => delivery.time],
  ["id", ({ delivery }) => delivery.id],
  ["outcome", ({ delivery }) => delivery.outcome],
  ["status", ({ delivery }) => delivery.status],
  ["took", ({ duration_ms }) => duration_ms === undefined ? "" : `${duration_ms} ms`],
  ["local answer", answerText],
  ["from", ({ delivery }) => delivery.remote_ip, "wide"],
  ["size", ({ delivery }) => delivery.size, "wide"],
];
/** The widths of these columns where rows are printed one by one. */
const WIDTHS = [24, 36, 8, 6, 8];

/** Defines the command. */
export function defineListen(command: Command): void {
  apiOptions(
    command.summary("Send a copy of each request of a trigger to an address of your own")
      .description(
        "Send a copy of each request of a trigger, as it comes, to an address of your own, such as a server on " +
          "this machine: the same headers, credentials included, and the same bytes, so that signatures match. " +
          "The answer to the sender stays the service's. Needs a token with the scope operate.",
      ),
  )
    .argument("<trigger>", "name or id")
    .requiredOption("--to <url>", "the address that gets the copies", localAddress)
    .option(
      "--since <time>",
      "past requests too: since a time, such as 2026-11-24T08:00:00Z or 2h, or behind a delivery's id",
      start,
    )
    .addOption(
      new Option("--outcome <outcome>", "only those with this outcome").choices(DELIVERY_OUTCOMES),
    )
    .option("--condition <type>", "only those that this has refused, such as hmac")
    .option("--json", "print one JSON object a line")
    .action(listen);
}

async function listen(name: string, options: ListenOptions): Promise<void> {
  const { url, to, since, outcome, condition, json = false } = options;
  const api = clientOf(url);
  const trigger = await findTrigger(api, name);
  let isStopping = false;
  let isForwarding = false;
  let last: string | undefined;
  const end = (): never => {
    console.error(last === undefined ? "Stopped" : `Stopped. To go on: --since ${last}`);
    // The connection to the service would keep the process.
    Deno.exit(0);
  };
  using _signals = onStopSignal(() => {
    // A second one does not wait for the local answer.
    if (isStopping) Deno.exit(130);
    isStopping = true;
    if (!isForwarding) end();
  });
  const onConnected = () =>
    console.error(`Listening to ${harmless(trigger.name)}: copies go to ${to.href}`);
  const sent = { ...since, outcome, condition };
  const path = `triggers/${trigger.id}/listen/`;
  const following = { sent, eventLengthMax: EVENT_LENGTH_MAX, onConnected };
  const known = new Map<string, true>();
  try {
    if (!json) await print(rowText(visibleColumns(COLUMNS), WIDTHS));
    for await (const events of followEvents(api, path, following)) {
      isForwarding = true;
      for (const { event, id, data } of events) {
        if (isStopping) break;
        if (event === "gap") console.error("More deliveries came than can wait: some are left out");
        if (event !== "message" || known.has(id)) continue;
        const forwarded = await forward(JSON.parse(data), to);
        known.set(last = id, true);
        evictOldest(known, KNOWN_MAX);
        await print(
          json ? recordText(forwarded) : rowText(visibleColumns(COLUMNS), WIDTHS, forwarded),
        );
      }
      isForwarding = false;
      if (isStopping) break;
    }
  } catch (error) {
    ignoreBrokenPipe(error);
  }
  end();
}

/** Sends a copy of a delivery, and measures the time of its answer. */
async function forward(listened: ListenedDelivery, to: URL): Promise<Forwarded> {
  const { delivery, exact, method, query, headers, body, missing } = listened;
  const result = { delivery, exact };
  if (body === undefined) return { ...result, error: `not sent: its body is ${missing}` };
  const url = new URL(to);
  if (query !== "") url.search = url.search === "" ? query : `${url.search}&${query}`;
  const began_ms = performance.now();
  try {
    const answer = await fetch(url, {
      method,
      headers: headers.filter(([name]) => !CONNECTION_HEADERS.has(name))
        .map(([name, value]): [string, string] => [name, headerValue(value)]),
      body: Uint8Array.fromBase64(body),
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const duration_ms = Math.round(performance.now() - began_ms);
    await answer.body?.cancel();
    return { ...result, answer: answer.status, duration_ms };
  } catch (error) {
    return { ...result, error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `no answer in ${ANSWER_TIMEOUT_MS / 1_000} s`;
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return `no answer: ${messageOf(cause)}`;
}

function answerText({ answer, error, exact }: Forwarded): string {
  const said = error ?? String(answer);
  return exact || error !== undefined ? said : `${said} (a copy as it is stored)`;
}

async function print(row: string): Promise<void> {
  await writeLines(Deno.stdout, [row]);
}

/** Reads the address that gets the copies. */
function localAddress(text: string): URL {
  const url = URL.parse(text);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === null || !isHttp || url.username !== "" || url.password !== "") {
    throw new InvalidArgumentError(
      "Expected an http or https URL without a password, such as http://localhost:3000/hook.",
    );
  }
  url.hash = "";
  return url;
}

/** Reads where to start. */
function start(text: string): { after: string } | { from: string } {
  if (isId(text)) return { after: text };
  try {
    return { from: since(text) };
  } catch {
    throw new InvalidArgumentError(
      "Expected a date and time, such as 2027-01-31T09:30:00Z, how long it is over, such as 2h, or the id of a delivery.",
    );
  }
}
