/**
 * `hooklaunch deliveries`: the requests at launch URLs, and new ones as they come.
 *
 * @module
 */
import type { Command } from "commander";
import type { ShownDelivery } from "../http/api/delivery_views.ts";
import { evictOldest } from "../platform/evict_oldest.ts";
import { DELIVERY_OUTCOMES } from "../store/records/deliveries.ts";
import type { ApiClient } from "./api/client.ts";
import { followEvents } from "./api/follow.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { recordText } from "./console/format.ts";
import { type Column, printIds, printList, rowText, visibleColumns } from "./console/table.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";
import { launcherText } from "./console/words.ts";
import { stateWord } from "../runs/state_word.ts";
import { workText } from "./console/work_text.ts";
import { deliveryFilter, type DeliveryFilterOptions, filterOf } from "./input/delivery_filter.ts";
import { listLimit, quietly } from "./input/options.ts";

interface DeliveriesOptions extends ApiOptions, DeliveryFilterOptions {
  follow?: boolean;
  limit: number;
}

/** Deliveries that are known when they come again. */
const PRINTED_MAX = 1_000;

const COLUMNS: readonly Column<ShownDelivery>[] = [
  ["id", ({ id }) => id],
  ["time", ({ time }) => time],
  ["trigger", ({ trigger, trigger_id }) => trigger ?? trigger_id],
  ["outcome", ({ outcome }) => outcome],
  ["status", ({ status }) => status],
  ["from", ({ remote_ip }) => remote_ip],
  ["what came of it", outcomeText],
  ["project", ({ project }) => project, "wide"],
  ["by", launcherText, "wide"],
  ["size", ({ size }) => size, "wide"],
  ["sha256", ({ sha256 }) => sha256, "wide"],
  ["delivery id", ({ delivery_id }) => delivery_id, "wide"],
  ["trigger id", ({ trigger_id }) => trigger_id, "wide"],
];
/** The widths of these columns where rows are printed one by one. */
const WIDTHS = [36, 24, 16, 11, 6, 15];

/** Defines the command. */
export function defineDeliveries(command: Command): void {
  deliveryFilter(
    apiOptions(
      command.summary("List the requests at launch URLs, and follow new ones").description(
        "List the requests at the launch URLs of all triggers, newest first, whatever came of them.",
      ),
    ),
    DELIVERY_OUTCOMES,
  )
    .option("-f, --follow", "print those that come from now on, until it is stopped")
    .addOption(listLimit())
    .addOption(quietly())
    .option("--json", "print JSON; with --follow, one object a line")
    .action(deliveries);
}

async function deliveries(options: DeliveriesOptions): Promise<void> {
  const { url, json = false, quiet = false, follow = false, limit } = options;
  const api = clientOf(url);
  const query = filterOf(options);
  if (follow) return await followDeliveries(api, query, { json, quiet });
  const listed = await api.list<ShownDelivery>("deliveries/", { limit, query });
  if (quiet) printIds(listed);
  else printList(listed, COLUMNS, { json });
}

async function followDeliveries(
  api: ApiClient,
  query: Record<string, string>,
  { json, quiet }: { json: boolean; quiet: boolean },
): Promise<void> {
  if (!json && !quiet) {
    await print(rowText(visibleColumns(COLUMNS), WIDTHS));
  }
  /** The row of each delivery as it was printed last: it comes again when it changes. */
  const printed = new Map<string, string>();
  const path = `deliveries/?${new URLSearchParams({ ...query, follow: "" })}`;
  try {
    for await (const events of followEvents(api, path)) {
      for (const { event, data } of events) {
        if (event === "gap") console.error("More deliveries came than could be shown");
        if (event !== "message") continue;
        const delivery: ShownDelivery = JSON.parse(data);
        const row = quiet
          ? delivery.id
          : json
          ? recordText(delivery)
          : rowText(visibleColumns(COLUMNS), WIDTHS, delivery);
        if (printed.get(delivery.id) === row) continue;
        printed.delete(delivery.id);
        printed.set(delivery.id, row);
        evictOldest(printed, PRINTED_MAX);
        await print(row);
      }
    }
  } catch (error) {
    ignoreBrokenPipe(error);
  }
}

async function print(row: string): Promise<void> {
  await writeLines(Deno.stdout, [row]);
}

/** Describes what came of a delivery: why it was refused, or what it launched. */
function outcomeText(delivery: ShownDelivery): string {
  const { outcome, condition, reason, run_id, run_status, replay_of, launched_by } = delivery;
  if (outcome === "repeat") return `as run ${run_id}`;
  if (outcome !== "accepted") return `${condition}: ${reason}`;
  const work = workText(delivery) || `run ${stateWord(run_status ?? "")}`;
  if (replay_of === undefined) return work;
  const by = launched_by?.name === undefined ? "" : ` by ${launched_by.name}`;
  return `replay${by} of ${replay_of}: ${work}`;
}
